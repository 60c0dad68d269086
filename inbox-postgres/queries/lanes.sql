-- Lanes in use, the one that has had its head for longest first.
SELECT lane.head_key, lane.tenant, lane.ordering_key, lane.message_id, head.state, lane.since,
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
          WHERE ready.message_id <> lane.message_id) AS behind
FROM :schema.lane AS lane
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN EXISTS (SELECT 1 FROM :schema.dead AS dead
                     WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key)
            THEN 'dead'
        WHEN EXISTS (SELECT 1 FROM :schema.ready AS ready
                     WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key)
            THEN 'pending'
        WHEN EXISTS (SELECT 1 FROM :schema.waiting AS waiting
                     WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key)
            THEN 'waiting'
        ELSE 'processing'
    END AS state
) AS head
WHERE ($1::text IS NULL OR lane.handler_key = coalesce((
          SELECT nullif(route.first_key, '') FROM :schema.route AS route WHERE route.handler_key = $1 LIMIT 1
      ), $1))
  AND (NOT $2::boolean OR head.state = 'dead')
ORDER BY lane.since, lane.handler_key COLLATE "C", lane.tenant COLLATE "C", lane.ordering_key COLLATE "C"
LIMIT $3
