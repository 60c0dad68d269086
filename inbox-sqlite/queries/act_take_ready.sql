-- ready → (done or waiting), for one handler or for all.
DELETE FROM inbox_ready
WHERE message_id = ?1 AND (?2 IS NULL OR handler_key = ?2)
RETURNING message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
          ordering_key, concurrency_key, position
