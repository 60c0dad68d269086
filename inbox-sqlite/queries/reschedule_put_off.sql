-- (ready) → waiting.
INSERT INTO inbox_waiting (
    message_id, handler_key, version, priority, attempts, delayed_retries, suspect, due_at, reason
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'delay')
ON CONFLICT DO NOTHING
