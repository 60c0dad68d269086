-- held → done, waiting, dead or ready. To delete the row is the settlement; the answer names what was found, and
-- what of it was cancelled instead.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
mine AS MATERIALIZED (
    SELECT asked.nth, asked.turn, asked.after, asked.error_type, asked.error, asked.carry AS carried, asked.place AS wished,
           held.*, one.cancelled,
           CASE WHEN one.cancelled THEN 'done' ELSE asked.place END AS place,
           CASE WHEN one.cancelled THEN 'cancelled' ELSE asked.word END AS word,
           NOT one.cancelled AND (asked.place = 'waiting' OR asked.place = 'dead' AND held.blocks) AS blocks_lane,
           -- What was not tried after all gives its attempt back.
           held.attempt - (asked.place = 'ready' OR asked.word IS NOT DISTINCT FROM 'orphaned')::integer AS attempts
    FROM unnest(
        $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::interval[], $7::text[], $8::text[], $9::jsonb[],
        $10::bigint[]
    ) WITH ORDINALITY AS asked (
        lease_id, message_id, place, word, after, error_type, error, carry, turn, nth
    )
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.*
        FROM :schema.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
        FOR UPDATE
    ) AS held
    -- Whoever cancelled it wants no other attempt, and no dead letter.
    CROSS JOIN LATERAL (SELECT asked.place <> 'done' AND held.cancel AS cancelled) AS one
),
{{over}},
{{kept}},
done AS (
    INSERT INTO :schema.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempts, greatest(clock.now - leased_at, interval '0'), clock.now
    FROM clock, mine
    WHERE place = 'done'
),
waiting AS (
    INSERT INTO :schema.waiting ({{delivery}}, position, attempts, carry, due_at, reason, error)
    SELECT {{delivery}}, position, attempts, carried, clock.now + after, 'retry', error
    FROM clock, mine
    WHERE place = 'waiting'
    ON CONFLICT DO NOTHING
),
dead AS (
    INSERT INTO :schema.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks, position
    )
    SELECT message_id, handler_key, version, priority, attempts, word, error_type, error, clock.now, blocks, position
    FROM clock, mine
    WHERE place = 'dead'
    ON CONFLICT DO NOTHING
),
returned AS (
    INSERT INTO :schema.ready ({{delivery}}, position, attempts, crashes, carry)
    SELECT {{delivery}}, position, attempts, crashes, carry
    FROM mine
    WHERE place = 'ready'
    ORDER BY turn
    ON CONFLICT DO NOTHING
),
attempt AS (
    INSERT INTO :schema.attempt (
        message_id, handler_key, attempt, host, leased_at, settled_at, error_type, error
    )
    SELECT message_id, handler_key, attempt, (
               SELECT host FROM :schema.lease WHERE id = mine.lease_id LIMIT 1
           ), leased_at, clock.now, error_type, error
    FROM clock, mine
    WHERE wished IN ('waiting', 'dead') AND word IS DISTINCT FROM 'orphaned'
    ORDER BY nth
)
SELECT nth, cancelled FROM mine
{{check}}
