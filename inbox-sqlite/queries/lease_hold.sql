-- (ready) → held.
INSERT INTO inbox_held (
    token, message_id, handler_key, version, priority, attempt, crashes, carry, first_key, tenant,
    concurrency_key
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
