-- (ready) → held.
INSERT INTO inbox_held (
    token, message_id, handler_key, version, priority, attempt, crashes, carry, tenant, first_key,
    ordering_key, concurrency_key, position
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
