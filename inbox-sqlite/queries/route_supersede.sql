-- Nothing new is stored under this key any more; but a key that takes nothing new supersedes nothing, if
-- an operator closed it.
INSERT INTO inbox_route (contract, handler_key, superseded_by, context, registered_at, blocks)
SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE NOT EXISTS (
    SELECT 1 FROM inbox_route WHERE contract = ?1 AND handler_key = ?3 AND retired
)
ON CONFLICT DO UPDATE SET superseded_by = excluded.superseded_by, blocks = excluded.blocks
