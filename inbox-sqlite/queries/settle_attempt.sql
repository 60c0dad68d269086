INSERT INTO inbox_attempt (
    message_id, handler_key, attempt, host, leased_at, settled_at, error_type, error
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
