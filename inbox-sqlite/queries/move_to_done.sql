-- (held, ready or waiting) → done.
INSERT OR REPLACE INTO inbox_done (message_id, handler_key, outcome, attempts, took, done_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
