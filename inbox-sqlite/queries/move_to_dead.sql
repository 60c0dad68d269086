-- (held or ready) → dead.
INSERT OR REPLACE INTO inbox_dead (
    message_id, handler_key, version, priority, attempts, tenant, first_key, ordering_key,
    concurrency_key, position, reason, error_type, error, dead_at
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
