-- waiting → (ready), for those whose time has come.
DELETE FROM inbox_waiting
WHERE (message_id, handler_key) IN (
    SELECT message_id, handler_key
    FROM inbox_waiting
    WHERE handler_key <> '' AND due_at <= ?1
    ORDER BY due_at
    LIMIT ?2
)
RETURNING message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
          ordering_key, concurrency_key, position, due_at
