-- The head of a lane, if it is dead, blocks it no more.
UPDATE inbox_dead SET position = NULL
WHERE position IS NOT NULL AND (message_id, handler_key) = (
    SELECT message_id, head_key FROM inbox_lane WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3
)
