-- dead → (ready), as if it had never been tried.
DELETE FROM inbox_dead
WHERE message_id = ?1 AND handler_key = ?2
RETURNING message_id, handler_key, version, priority, 0, 0, NULL, tenant, first_key,
          ordering_key, concurrency_key, position
