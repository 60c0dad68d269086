-- (ready) → lease.
INSERT INTO inbox_lease (
    token, host, handler_key, message_id, version, priority, attempt, delayed_retries, suspect,
    max_attempts, leased_at, expires_at, first_key, tenant, concurrency_key, blocks, bound
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
