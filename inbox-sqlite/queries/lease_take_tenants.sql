-- The same, if all in the list have names: the first of each tenant by its index, and of those the first.
DELETE FROM inbox_ready
WHERE seq IN (
    SELECT ready.seq
    FROM json_each(?4) AS served
    CROSS JOIN inbox_ready AS ready ON ready.seq IN (
        SELECT seq
        FROM inbox_ready INDEXED BY inbox_ready_tenant
        WHERE tenant = served.value AND tenant <> '' AND handler_key = ?1 AND suspect = 0 AND behind = 0
          AND version IN (SELECT value FROM json_each(?2))
        ORDER BY priority DESC, seq
        LIMIT ?3
    )
    ORDER BY ready.priority DESC, ready.seq
    LIMIT ?3
)
RETURNING seq, message_id, version, priority, attempts, delayed_retries, handler_key, tenant,
          first_key, ordering_key, concurrency_key
