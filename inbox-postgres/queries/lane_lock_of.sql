-- Locks the lanes that deliveries of this message are in, in the order of lanes, before something is done to
-- them by id. One look for each lane: a join may read all lanes of a handler.
WITH keys AS MATERIALIZED (
    SELECT DISTINCT coalesce(nullif(route.first_key, ''), route.handler_key) AS handler_key, message.tenant,
           message.ordering_key
    FROM :schema.message AS message
    JOIN :schema.route AS route ON route.contract = message.contract
    WHERE message.id = ANY ($1::uuid[])
    ORDER BY 1, 2, 3
)
SELECT 1
FROM keys
CROSS JOIN LATERAL (
    SELECT 1
    FROM :schema.lane AS lane
    WHERE lane.handler_key = keys.handler_key AND lane.tenant = keys.tenant
      AND lane.ordering_key = keys.ordering_key
    LIMIT 1
    FOR UPDATE
) AS lane
