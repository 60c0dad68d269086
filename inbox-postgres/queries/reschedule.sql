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
        reason = CASE WHEN waiting.first_key IS NULL THEN waiting.reason ELSE 'delay' END,
        first_key = NULL
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
    RETURNING ready.*
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
      AND waiting.first_key IS NOT NULL AND clock.due_at <= clock.now
),
was_waiting AS (
    DELETE FROM :schema.waiting AS waiting
    USING clock
    WHERE waiting.message_id = $2 AND ($3 IS NULL OR waiting.handler_key = $3)
      -- In these words, as in plainer ones it could be read from the index of all that waits for a moment.
      AND waiting.handler_key <> '' AND coalesce(waiting.first_key, '') = '' AND clock.due_at <= clock.now
    RETURNING waiting.*
),
made_waiting AS (
    INSERT INTO :schema.waiting ({{delivery}}, attempts, crashes, carry, due_at, reason)
    SELECT {{delivery}}, attempts, crashes, carry, clock.due_at, 'delay'
    FROM clock, was_ready
    ON CONFLICT DO NOTHING
),
made_ready AS (
    INSERT INTO :schema.ready ({{delivery}}, position, attempts, crashes, carry)
    SELECT {{delivery}}, CASE reason WHEN 'delay' THEN nextval(:position) ELSE position END, attempts, crashes, carry
    FROM was_waiting
    ORDER BY handler_key
    ON CONFLICT DO NOTHING
)
-- What is ready is touched first and what waits then, as cancel does.
SELECT handler_key FROM was_ready
UNION ALL SELECT handler_key FROM is_ready
UNION ALL SELECT handler_key FROM put_off
UNION ALL SELECT handler_key FROM is_behind
UNION ALL SELECT handler_key FROM was_waiting
