-- Lanes without a head of which none is in front. From lane to lane by the index, so that deep ones cost no
-- more than shallow ones.
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
