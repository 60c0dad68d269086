-- waiting → ready, for the oldest behind each lane that is gone: the next claim that meets it wins the lane. From
-- lane to lane by the index, so that deep ones cost no more than shallow ones.
WITH RECURSIVE line AS (
    (SELECT waiting.first_key, waiting.tenant, waiting.ordering_key
     FROM :schema.waiting AS waiting
     WHERE waiting.reason = 'lane'
     ORDER BY waiting.first_key, waiting.tenant, waiting.ordering_key
     LIMIT 1)
    UNION ALL
    SELECT next.*
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.first_key, waiting.tenant, waiting.ordering_key
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'lane'
          AND (waiting.first_key, waiting.tenant, waiting.ordering_key)
              > (line.first_key, line.tenant, line.ordering_key)
        ORDER BY waiting.first_key, waiting.tenant, waiting.ordering_key
        LIMIT 1
    ) AS next
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'lane' AND waiting.first_key = line.first_key
          AND waiting.tenant = line.tenant AND waiting.ordering_key = line.ordering_key
        ORDER BY waiting.position
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS waiting
    -- One look for each, and no join, which may read all lanes.
    WHERE (
        SELECT true
        FROM :schema.lane AS lane
        WHERE lane.handler_key = line.first_key AND lane.tenant = line.tenant
          AND lane.ordering_key = line.ordering_key
        LIMIT 1
    ) IS NULL
    LIMIT $1
),
{{wake}}
SELECT count(*) FROM next
