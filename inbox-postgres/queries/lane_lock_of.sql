-- Locks the lanes that deliveries of this message are in, in the order of lanes, before something is done to
-- them by id.
SELECT 1
FROM :schema.message AS message
JOIN :schema.route AS route ON route.contract = message.contract
JOIN :schema.lane AS lane
    ON lane.handler_key = coalesce(nullif(route.first_key, ''), route.handler_key)
   AND lane.tenant = message.tenant AND lane.ordering_key = message.ordering_key
WHERE message.id = ANY ($1::uuid[])
ORDER BY lane.handler_key, lane.tenant, lane.ordering_key
FOR UPDATE OF lane
