-- nothing → ready, for every route of the contract.
INSERT INTO inbox_ready (handler_key, version, priority, message_id, tenant)
SELECT handler_key, ?2, ?3, ?4, coalesce((SELECT tenant FROM inbox_message WHERE id = ?4), '')
FROM inbox_route
WHERE contract = ?1 AND superseded_by IS NULL
ORDER BY handler_key
ON CONFLICT DO NOTHING
