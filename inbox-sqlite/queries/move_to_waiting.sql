-- (held or ready) → waiting.
INSERT OR REPLACE INTO inbox_waiting (
    message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
    ordering_key, concurrency_key, position, due_at, reason, error
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
