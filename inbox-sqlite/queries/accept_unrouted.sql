-- nothing → waiting for a route.
INSERT INTO inbox_waiting (
    contract, version, priority, message_id, tenant, ordering_key, concurrency_key, due_at, position, reason
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'no-route')
