-- ready → lease: one row for the batch, and what it holds. The most urgent first, then the oldest;
-- each priority from the mark where earlier claims found work.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
urgent AS MATERIALIZED (
    SELECT ctid AS row FROM :schema.ready
    WHERE handler_key = $4 AND priority = 3 AND seq > $9 AND version = ANY ($5) AND NOT suspect
    ORDER BY seq
    LIMIT $6
    FOR UPDATE SKIP LOCKED
),
high AS MATERIALIZED (
    SELECT ctid AS row FROM :schema.ready
    WHERE handler_key = $4 AND priority = 2 AND seq > $10 AND version = ANY ($5) AND NOT suspect
    ORDER BY seq
    LIMIT $6 - (SELECT count(*) FROM urgent)
    FOR UPDATE SKIP LOCKED
),
normal AS MATERIALIZED (
    SELECT ctid AS row FROM :schema.ready
    WHERE handler_key = $4 AND priority = 1 AND seq > $11 AND version = ANY ($5) AND NOT suspect
    ORDER BY seq
    LIMIT $6 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high)
    FOR UPDATE SKIP LOCKED
),
low AS MATERIALIZED (
    SELECT ctid AS row FROM :schema.ready
    WHERE handler_key = $4 AND priority = 0 AND seq > $12 AND version = ANY ($5) AND NOT suspect
    ORDER BY seq
    LIMIT $6 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high)
             - (SELECT count(*) FROM normal)
    FOR UPDATE SKIP LOCKED
),
-- By place in the table, which needs no plan that could go wrong.
taken AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(
        SELECT row FROM urgent
        UNION ALL SELECT row FROM high
        UNION ALL SELECT row FROM normal
        UNION ALL SELECT row FROM low
    ))
    RETURNING seq, priority, version, message_id, attempts + 1 AS attempt, delayed_retries
),
held AS (
    INSERT INTO :schema.lease (
        token, host, handler_key, suspect, max_attempts, leased_at, expires_at, message_ids,
        versions, priorities, attempts, delayed_retries, open, cancel
    )
    SELECT $2::uuid, $3::text, $4::text, false, $7::integer, clock.now, clock.now + $8::interval,
           batch.message_ids, batch.versions, batch.priorities, batch.attempts,
           batch.delayed_retries, batch.open, ~batch.open
    FROM clock, (
        SELECT array_agg(message_id ORDER BY priority DESC, seq) AS message_ids,
               array_agg(version ORDER BY priority DESC, seq) AS versions,
               array_agg(priority ORDER BY priority DESC, seq) AS priorities,
               array_agg(attempt ORDER BY priority DESC, seq) AS attempts,
               array_agg(delayed_retries ORDER BY priority DESC, seq) AS delayed_retries,
               repeat('1', count(*)::integer)::varbit AS open
        FROM taken
    ) AS batch
    WHERE batch.message_ids IS NOT NULL
    RETURNING leased_at, expires_at
)
SELECT held.leased_at, held.expires_at, taken.seq, taken.priority, taken.message_id, taken.attempt,
       taken.delayed_retries, $4::text AS handler_key, message.*
FROM held
CROSS JOIN taken
LEFT JOIN LATERAL (
    SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM :schema.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
ORDER BY taken.priority DESC, taken.seq
