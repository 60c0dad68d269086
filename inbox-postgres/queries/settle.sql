-- lease → done, waiting, dead or ready. A lease that is gone or has expired settles nothing; the answer
-- names what was settled, and what of it was cancelled instead. The leases are touched first, in the order of
-- tokens.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
asked AS MATERIALIZED (
    SELECT *
    FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::interval[], $7::text[], $8::text[])
        WITH ORDINALITY AS given (token, message_id, place, word, after, error_type, error, nth)
),
held AS MATERIALIZED (
    SELECT lease.*
    FROM clock, :schema.lease AS lease
    WHERE lease.token = ANY ($2) AND lease.expires_at > clock.now
    ORDER BY lease.token
    FOR UPDATE OF lease
),
-- Unpacked once: to look for each delivery in the arrays would be quadratic.
open AS MATERIALIZED (
    SELECT held.token, held.handler_key, held.leased_at, held.suspect, held.blocks, held.open, held.cancel,
           one.message_id, coalesce(one.version, held.versions[1]) AS version,
           coalesce(one.priority, held.priorities[1]) AS priority,
           coalesce(one.attempt, held.attempts[1]) AS attempt,
           coalesce(one.delayed_retries, held.delayed_retries[1]) AS delayed_retries, one.bit
    FROM held
    CROSS JOIN LATERAL unnest(
        held.message_ids, held.versions, held.priorities, held.attempts, held.delayed_retries
    ) WITH ORDINALITY AS one (message_id, version, priority, attempt, delayed_retries, bit)
    WHERE get_bit(held.open, one.bit::integer - 1) = 1
),
settled AS MATERIALIZED (
    SELECT asked.token, asked.message_id, asked.after, asked.error_type, asked.error, asked.nth,
           asked.place AS wished, open.handler_key, open.leased_at, open.suspect, open.blocks, open.open,
           open.bit::integer AS bit, open.version, open.priority, open.delayed_retries, clock.now,
           -- What was not tried after all gives its attempt back.
           CASE WHEN asked.place = 'ready' THEN open.attempt - 1 ELSE open.attempt END AS attempt,
           one.*
    FROM clock, asked
    JOIN open USING (token, message_id)
    -- Whoever cancelled it wants no other attempt, and no dead letter.
    CROSS JOIN LATERAL (
        SELECT asked.place <> 'done' AND get_bit(open.cancel, open.bit::integer - 1) = 1
            AS cancelled
    ) AS stop
    CROSS JOIN LATERAL (
        SELECT stop.cancelled,
               CASE WHEN stop.cancelled THEN 'done' ELSE asked.place END AS place,
               CASE WHEN stop.cancelled THEN 'cancelled' ELSE asked.word END AS word
    ) AS one
),
-- The bits of all that is settled under one token, taken out of what was open.
rest AS MATERIALIZED (
    SELECT token,
           open & ~bit_or(set_bit(open & ~open, bit - 1, 1)) AS open
    FROM settled
    GROUP BY token, open
),
kept AS (
    UPDATE :schema.lease AS lease
    SET open = rest.open
    FROM rest
    WHERE lease.token = rest.token AND position(B'1' IN rest.open) > 0
),
ended AS (
    DELETE FROM :schema.lease AS lease
    USING rest
    WHERE lease.token = rest.token AND position(B'1' IN rest.open) = 0
),
done AS (
    INSERT INTO :schema.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempt, greatest(now - leased_at, interval '0'), now
    FROM settled
    WHERE place = 'done'
),
waiting AS (
    INSERT INTO :schema.waiting (
        message_id, handler_key, version, priority, attempts, delayed_retries, due_at, reason, error
    )
    SELECT message_id, handler_key, version, priority, attempt, delayed_retries + 1, now + after,
           'retry', error
    FROM settled
    WHERE place = 'waiting'
    ON CONFLICT DO NOTHING
),
dead AS (
    INSERT INTO :schema.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks
    )
    SELECT message_id, handler_key, version, priority, attempt, word, error_type, error, now, blocks
    FROM settled
    WHERE place = 'dead'
    ON CONFLICT DO NOTHING
),
returned AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
        ordering_key, concurrency_key
    )
    SELECT handler_key, priority, version, message_id, attempt, delayed_retries, suspect,
           coalesce(message.tenant, ''), message.ordering_key, message.concurrency_key
    FROM settled
    LEFT JOIN LATERAL (
        SELECT tenant, ordering_key, concurrency_key FROM :schema.message WHERE id = settled.message_id LIMIT 1
    ) AS message ON true
    WHERE place = 'ready'
    ORDER BY nth
    ON CONFLICT DO NOTHING
),
attempt AS (
    INSERT INTO :schema.attempt (
        message_id, handler_key, attempt, leased_at, settled_at, error_type, error
    )
    SELECT message_id, handler_key, attempt, leased_at, now, error_type, error
    FROM settled
    WHERE wished IN ('waiting', 'dead')
    ORDER BY nth
)
SELECT nth, cancelled FROM settled
