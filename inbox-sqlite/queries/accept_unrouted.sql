-- nothing → waiting for a route.
INSERT INTO inbox_waiting (contract, version, priority, message_id, due_at, reason)
VALUES (?1, ?2, ?3, ?4, ?5, 'no-route')
