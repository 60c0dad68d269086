-- What is ready already, and keeps its turn.
SELECT count(*) FROM inbox_ready WHERE message_id = ?1 AND (?2 IS NULL OR handler_key = ?2)
