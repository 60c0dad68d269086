-- (lease) → ready.
INSERT INTO inbox_ready (
    handler_key, version, priority, message_id, attempts, delayed_retries, suspect
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
