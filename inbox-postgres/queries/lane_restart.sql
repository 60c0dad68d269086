-- waiting → ready, for the oldest behind each lane that has ended without it: the lane begins again. From lane
-- to lane by the index, so that deep ones cost no more than shallow ones.
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
oldest AS MATERIALIZED (
    SELECT head.*
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row, waiting.message_id, waiting.handler_key, waiting.first_key,
               waiting.tenant, waiting.ordering_key
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'lane' AND waiting.first_key = line.first_key
          AND waiting.tenant = line.tenant AND waiting.ordering_key = line.ordering_key
        ORDER BY waiting.seq
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS head
    -- One look for each, and no join, which may read all lanes.
    WHERE (
        SELECT true
        FROM :schema.lane AS lane
        WHERE lane.handler_key = line.first_key AND lane.tenant = line.tenant
          AND lane.ordering_key = line.ordering_key
        LIMIT 1
    ) IS NULL
    LIMIT $2
),
begun AS (
    INSERT INTO :schema.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT oldest.first_key, oldest.tenant, oldest.ordering_key, oldest.message_id, oldest.handler_key,
           coalesce($1::timestamptz, clock_timestamp())
    FROM oldest
    ORDER BY oldest.first_key, oldest.tenant, oldest.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING message_id, head_key
),
woken AS (
    DELETE FROM :schema.waiting
    WHERE ctid = ANY (ARRAY(
        SELECT oldest.row
        FROM oldest
        JOIN begun ON begun.message_id = oldest.message_id AND begun.head_key = oldest.handler_key
    ))
    RETURNING *
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM woken
)
SELECT count(*) FROM begun
