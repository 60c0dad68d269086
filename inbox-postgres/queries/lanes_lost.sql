-- Lanes whose holder is nowhere, or without a holder while the next delivery waits: nobody would ever take them.
SELECT lane.handler_key, lane.tenant, lane.ordering_key
FROM (
    SELECT lane.*, {{lane_state}}
    FROM :schema.lane AS lane
) AS lane
WHERE NOT runs AND (lease_id IS NOT NULL OR NOT has_head AND (message_id IS NOT NULL OR (
    SELECT next.waits
    FROM :schema.lane_next(lane.handler_key, lane.tenant, lane.ordering_key, lane.mark, 1) AS next
    LIMIT 1
) IS DISTINCT FROM false))
LIMIT $1
