-- dead → (ready).
DELETE FROM inbox_dead
WHERE message_id = ?1 AND handler_key = ?2
RETURNING version, priority
