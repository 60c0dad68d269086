-- nothing → waiting until its start, for every route of the contract.
INSERT INTO inbox_waiting (handler_key, version, priority, message_id, due_at, reason)
SELECT handler_key, ?2, ?3, ?4, ?5, 'delay'
FROM inbox_route
WHERE contract = ?1 AND superseded_by IS NULL
ON CONFLICT DO NOTHING
