-- nothing → ready, for every route of the contract. What has an ordering key begins behind its lane.
INSERT INTO inbox_ready (
    handler_key, version, priority, message_id, tenant, ordering_key, concurrency_key, position,
    first_key, behind
)
SELECT handler_key, ?2, ?3, ?4, ?5, ?6, ?7, ?8, coalesce(nullif(first_key, ''), handler_key), ?6 IS NOT NULL
FROM inbox_route
WHERE contract = ?1 AND superseded_by IS NULL
ORDER BY handler_key
ON CONFLICT (message_id, handler_key) DO NOTHING
RETURNING first_key
