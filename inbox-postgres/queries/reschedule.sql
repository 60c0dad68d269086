-- ready or waiting → ready or waiting, with another start. Answers which deliveries it found: one that
-- moves meanwhile is in neither place, and looked for again.
WITH clock AS MATERIALIZED (
    SELECT now, greatest(now, coalesce($4::timestamptz, now + $5::interval, now)) AS due_at
    FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) AS given
),
-- What waits for a route goes on waiting for it. What waits behind others gives up its turn, until then.
put_off AS (
    UPDATE :schema.waiting AS waiting
    SET due_at = clock.due_at,
        reason = CASE WHEN waiting.shared_key IS NULL THEN waiting.reason ELSE 'delay' END,
        first_key = NULL, tenant = NULL, shared_key = NULL, seq = NULL
    FROM clock
    WHERE waiting.message_id = $2 AND ($3::text IS NULL OR waiting.handler_key = $3)
      AND (clock.due_at > clock.now OR waiting.handler_key = '')
    RETURNING waiting.handler_key
),
was_ready AS (
    DELETE FROM :schema.ready AS ready
    USING clock
    WHERE ready.message_id = $2 AND ($3 IS NULL OR ready.handler_key = $3)
      AND clock.due_at > clock.now
    RETURNING ready.handler_key, ready.version, ready.priority, ready.attempts,
              ready.delayed_retries, ready.suspect
),
-- Ready already, it keeps its turn.
is_ready AS MATERIALIZED (
    SELECT ready.handler_key
    FROM clock, :schema.ready AS ready
    WHERE ready.message_id = $2 AND ($3 IS NULL OR ready.handler_key = $3)
      AND clock.due_at <= clock.now
),
-- Behind others, it keeps its turn.
is_behind AS MATERIALIZED (
    SELECT waiting.handler_key
    FROM clock, :schema.waiting AS waiting
    WHERE waiting.message_id = $2 AND ($3 IS NULL OR waiting.handler_key = $3)
      AND waiting.shared_key IS NOT NULL AND clock.due_at <= clock.now
),
was_waiting AS (
    DELETE FROM :schema.waiting AS waiting
    USING clock
    WHERE waiting.message_id = $2 AND ($3 IS NULL OR waiting.handler_key = $3)
      AND waiting.handler_key <> '' AND waiting.shared_key IS NULL AND clock.due_at <= clock.now
    RETURNING waiting.handler_key, waiting.version, waiting.priority, waiting.attempts,
              waiting.delayed_retries, waiting.suspect
),
made_waiting AS (
    INSERT INTO :schema.waiting (
        message_id, handler_key, version, priority, attempts, delayed_retries, suspect, due_at,
        reason
    )
    SELECT $2, handler_key, version, priority, attempts, delayed_retries, suspect, clock.due_at,
           'delay'
    FROM clock, was_ready
    ON CONFLICT DO NOTHING
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
        ordering_key, concurrency_key
    )
    SELECT handler_key, priority, version, $2, attempts, delayed_retries, suspect,
           coalesce(message.tenant, ''), message.ordering_key, message.concurrency_key
    FROM was_waiting
    LEFT JOIN LATERAL (
        SELECT tenant, ordering_key, concurrency_key FROM :schema.message WHERE id = $2 LIMIT 1
    ) AS message ON true
    ORDER BY handler_key
    ON CONFLICT DO NOTHING
)
-- What is ready is touched first and what waits then, as cancel does.
SELECT handler_key FROM was_ready
UNION ALL SELECT handler_key FROM is_ready
UNION ALL SELECT handler_key FROM put_off
UNION ALL SELECT handler_key FROM is_behind
UNION ALL SELECT handler_key FROM was_waiting
