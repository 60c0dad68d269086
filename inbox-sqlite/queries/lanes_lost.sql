-- Lanes that nobody would hand on any more: those whose head is nowhere, or has come to its end, or stands behind
-- itself; and those without a head of which none is in front. These from lane to lane by the index, so that deep ones
-- cost no more than shallow ones.
WITH RECURSIVE line (first_key, tenant, ordering_key) AS (
    SELECT * FROM (
        SELECT first_key, tenant, ordering_key
        FROM inbox_ready
        WHERE ordering_key IS NOT NULL
        ORDER BY first_key, tenant, ordering_key
        LIMIT 1
    )
    UNION ALL
    SELECT next.first_key, next.tenant, next.ordering_key
    FROM line
    JOIN inbox_ready AS next ON next.seq = coalesce(
        (SELECT seq
         FROM inbox_ready AS ready
         WHERE ready.first_key = line.first_key AND ready.tenant = line.tenant
           AND ready.ordering_key > line.ordering_key
         ORDER BY ready.ordering_key
         LIMIT 1),
        (SELECT seq
         FROM inbox_ready AS ready
         WHERE ready.first_key = line.first_key AND ready.tenant > line.tenant
           AND ready.ordering_key IS NOT NULL
         ORDER BY ready.tenant, ready.ordering_key
         LIMIT 1),
        (SELECT seq
         FROM inbox_ready AS ready
         WHERE ready.first_key > line.first_key AND ready.ordering_key IS NOT NULL
         ORDER BY ready.first_key, ready.tenant, ready.ordering_key
         LIMIT 1)
    )
)
SELECT lane.first_key, lane.tenant, lane.ordering_key
FROM inbox_lane AS lane
WHERE NOT EXISTS (SELECT 1 FROM inbox_held AS held
                  WHERE held.message_id = lane.message_id AND held.handler_key = lane.head_key)
  AND NOT EXISTS (SELECT 1 FROM inbox_ready AS ready
                  WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
                    AND ready.behind = 0)
  AND NOT EXISTS (SELECT 1 FROM inbox_waiting AS waiting
                  WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
                    AND waiting.position IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM inbox_dead AS dead
                  WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
                    AND dead.position IS NOT NULL)
UNION ALL
SELECT line.first_key, line.tenant, line.ordering_key
FROM line
WHERE NOT EXISTS (
    SELECT 1
    FROM inbox_ready AS front
    WHERE front.first_key = line.first_key AND front.tenant = line.tenant
      AND front.ordering_key = line.ordering_key AND front.behind = 0
) AND NOT EXISTS (
    SELECT 1
    FROM inbox_lane AS lane
    WHERE lane.first_key = line.first_key AND lane.tenant = line.tenant
      AND lane.ordering_key = line.ordering_key
)
LIMIT ?1
