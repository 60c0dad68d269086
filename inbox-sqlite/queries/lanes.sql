-- Lanes in use, the one that has had its head for longest first.
SELECT lane.head_key, lane.tenant, lane.ordering_key, lane.message_id, lane.state, lane.since,
       (SELECT count(*)
        FROM inbox_ready AS ready
        WHERE ready.first_key = lane.first_key AND ready.tenant = lane.tenant
          AND ready.ordering_key = lane.ordering_key
          AND (ready.message_id, ready.handler_key) <> (lane.message_id, lane.head_key))
       + (SELECT count(*)
          FROM inbox_held AS held
          WHERE held.first_key = lane.first_key AND held.tenant = lane.tenant
            AND held.ordering_key = lane.ordering_key
            AND (held.message_id, held.handler_key) <> (lane.message_id, lane.head_key)) AS behind
FROM (
    SELECT *, CASE
        WHEN EXISTS (SELECT 1 FROM inbox_dead AS dead
                     WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key)
            THEN 'dead'
        WHEN EXISTS (SELECT 1 FROM inbox_ready AS ready
                     WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key)
            THEN 'pending'
        WHEN EXISTS (SELECT 1 FROM inbox_waiting AS waiting
                     WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key)
            THEN 'waiting'
        ELSE 'processing'
    END AS state
    FROM inbox_lane AS lane
) AS lane
WHERE (?1 IS NULL OR lane.first_key = coalesce((
          SELECT nullif(route.first_key, '') FROM inbox_route AS route WHERE route.handler_key = ?1 LIMIT 1
      ), ?1))
  AND (NOT ?2 OR lane.state = 'dead')
ORDER BY lane.since, lane.first_key, lane.tenant, lane.ordering_key
LIMIT ?3
