-- Lanes in use, the one that has had its holder for longest first: with the delivery whose turn it is.
SELECT coalesce(head.handler_key, lane.handler_key), lane.tenant, lane.ordering_key, head.message_id, head.state,
       lane.since,
       (SELECT count(*)
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'lane' AND waiting.first_key = lane.handler_key
          AND waiting.tenant = lane.tenant AND waiting.ordering_key = lane.ordering_key)
       + (SELECT count(*)
          FROM (
              SELECT lane.handler_key AS key
              UNION
              SELECT route.handler_key FROM :schema.route AS route WHERE route.first_key = lane.handler_key
          ) AS alias
          JOIN :schema.ready AS ready
              ON ready.handler_key COLLATE "C" = alias.key AND ready.tenant COLLATE "C" = lane.tenant
             AND ready.ordering_key COLLATE "C" = lane.ordering_key
          WHERE ready.message_id <> head.message_id)
       + (SELECT count(*)
          FROM :schema.held AS held
          WHERE held.lease_id = lane.lease_id AND held.tenant = lane.tenant
            AND held.ordering_key = lane.ordering_key AND held.message_id <> head.message_id) AS behind
FROM :schema.lane AS lane
CROSS JOIN LATERAL (
    SELECT held.message_id, held.handler_key, 'processing' AS state
    FROM (
        SELECT message_id, handler_key
        FROM :schema.held AS held
        WHERE held.lease_id = lane.lease_id AND held.tenant = lane.tenant AND held.ordering_key = lane.ordering_key
        ORDER BY held.position
        LIMIT 1
    ) AS held
    UNION ALL
    SELECT lane.message_id, lane.head_key, CASE
        WHEN EXISTS (SELECT 1 FROM :schema.dead AS dead
                     WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key)
            THEN 'dead'
        WHEN EXISTS (SELECT 1 FROM :schema.ready AS ready
                     WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key)
            THEN 'pending'
        ELSE 'waiting'
    END
    WHERE lane.message_id IS NOT NULL AND lane.lease_id IS NULL
    UNION ALL
    SELECT next.message_id, next.handler_key, 'pending'
    FROM :schema.lane_next(lane.handler_key, lane.tenant, lane.ordering_key, lane.mark, 1) AS next
    WHERE num_nonnulls(lane.lease_id, lane.message_id) = 0
) AS head
WHERE ($1::text IS NULL OR lane.handler_key = :schema.first_key($1))
  AND (NOT $2::boolean OR head.state = 'dead')
ORDER BY lane.since, lane.handler_key COLLATE "C", lane.tenant COLLATE "C", lane.ordering_key COLLATE "C"
LIMIT $3
