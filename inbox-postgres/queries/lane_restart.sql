-- waiting → ready, for the oldest behind each lane that has ended without it: the lane begins again. From lane
-- to lane by the index, so that deep ones cost no more than shallow ones.
WITH RECURSIVE line AS (
    (SELECT waiting.first_key, waiting.tenant, waiting.shared_key
     FROM :schema.waiting AS waiting
     WHERE waiting.reason = 'lane' AND waiting.shared_key IS NOT NULL
     ORDER BY waiting.first_key, waiting.tenant, waiting.shared_key
     LIMIT 1)
    UNION ALL
    SELECT next.*
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.first_key, waiting.tenant, waiting.shared_key
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'lane' AND waiting.shared_key IS NOT NULL
          AND (waiting.first_key, waiting.tenant, waiting.shared_key)
              > (line.first_key, line.tenant, line.shared_key)
        ORDER BY waiting.first_key, waiting.tenant, waiting.shared_key
        LIMIT 1
    ) AS next
),
oldest AS MATERIALIZED (
    SELECT head.*
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.*
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'lane' AND waiting.first_key = line.first_key
          AND waiting.tenant = line.tenant AND waiting.shared_key = line.shared_key
        ORDER BY waiting.seq
        LIMIT 1
    ) AS head
    WHERE NOT EXISTS (
        SELECT 1
        FROM :schema.lane AS lane
        WHERE lane.handler_key = line.first_key AND lane.tenant = line.tenant
          AND lane.ordering_key = line.shared_key
    )
    LIMIT $2
),
begun AS (
    INSERT INTO :schema.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT oldest.first_key, oldest.tenant, oldest.shared_key, oldest.message_id, oldest.handler_key,
           coalesce($1::timestamptz, clock_timestamp())
    FROM oldest
    ORDER BY oldest.first_key, oldest.tenant, oldest.shared_key
    ON CONFLICT DO NOTHING
    RETURNING message_id, head_key
),
woken AS (
    DELETE FROM :schema.waiting AS waiting
    USING begun
    WHERE waiting.message_id = begun.message_id AND waiting.handler_key = begun.head_key
    RETURNING waiting.*
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
        ordering_key, concurrency_key
    )
    SELECT woken.handler_key, woken.priority, woken.version, woken.message_id, woken.attempts,
           woken.delayed_retries, woken.suspect, woken.tenant, woken.shared_key, message.concurrency_key
    FROM woken
    LEFT JOIN LATERAL (
        SELECT concurrency_key FROM :schema.message WHERE id = woken.message_id LIMIT 1
    ) AS message ON true
)
SELECT count(*) FROM begun
