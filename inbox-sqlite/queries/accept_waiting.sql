-- nothing → waiting until its start, for every route of the contract.
INSERT INTO inbox_waiting (
    handler_key, version, priority, message_id, tenant, ordering_key, concurrency_key, due_at,
    first_key, reason
)
SELECT handler_key, ?2, ?3, ?4, ?5, ?6, ?7, ?8, coalesce(nullif(first_key, ''), handler_key), 'delay'
FROM inbox_route
WHERE contract = ?1 AND superseded_by IS NULL
ON CONFLICT DO NOTHING
