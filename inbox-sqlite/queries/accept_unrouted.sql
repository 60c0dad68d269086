-- nothing → waiting for a route, behind all of its contract that wait for one.
INSERT INTO inbox_waiting (
    contract, version, priority, message_id, due_at, reason, tenant, ordering_key, position
)
VALUES (?1, ?2, ?3, ?4, ?5, 'no-route', ?6, ?7, (
    SELECT coalesce(max(position), 0) + 1 FROM inbox_waiting WHERE handler_key = '' AND contract = ?1
))
