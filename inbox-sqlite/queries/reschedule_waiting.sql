-- waiting → waiting, until another moment; of what is to be ready now, only what has no route.
UPDATE inbox_waiting SET due_at = ?3
WHERE message_id = ?1 AND (?2 IS NULL OR handler_key = ?2) AND (?4 OR handler_key = '')
