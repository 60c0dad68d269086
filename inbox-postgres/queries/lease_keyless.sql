-- ready → lease, for what has no ordering key: one row for the batch, and what it holds. It is lease.sql with
-- fewer steps, for handlers of which no message with a key was seen. One that is seen now is left, and counted.
-- Each row names the claim, and there is one even if nothing was taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
urgent AS MATERIALIZED (
    SELECT ready.row
    FROM unnest($5::integer[]) AS readable (version) /*served*/
    CROSS JOIN LATERAL (
        SELECT ctid AS row, seq FROM :schema.ready
        WHERE handler_key = $4 /*bytes*/ AND priority = 3 AND version = readable.version AND seq > $9
          AND NOT suspect /*theirs*/
        ORDER BY seq
        LIMIT $6
        FOR UPDATE SKIP LOCKED
    ) AS ready
    ORDER BY ready.seq
    LIMIT $6
),
high AS MATERIALIZED (
    SELECT ready.row
    FROM unnest($5::integer[]) AS readable (version) /*served*/
    CROSS JOIN LATERAL (
        SELECT ctid AS row, seq FROM :schema.ready
        WHERE handler_key = $4 /*bytes*/ AND priority = 2 AND version = readable.version AND seq > $10
          AND NOT suspect /*theirs*/
        ORDER BY seq
        LIMIT $6 - (SELECT count(*) FROM urgent)
        FOR UPDATE SKIP LOCKED
    ) AS ready
    ORDER BY ready.seq
    LIMIT $6 - (SELECT count(*) FROM urgent)
),
normal AS MATERIALIZED (
    SELECT ready.row
    FROM unnest($5::integer[]) AS readable (version) /*served*/
    CROSS JOIN LATERAL (
        SELECT ctid AS row, seq FROM :schema.ready
        WHERE handler_key = $4 /*bytes*/ AND priority = 1 AND version = readable.version AND seq > $11
          AND NOT suspect /*theirs*/
        ORDER BY seq
        LIMIT $6 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high)
        FOR UPDATE SKIP LOCKED
    ) AS ready
    ORDER BY ready.seq
    LIMIT $6 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high)
),
low AS MATERIALIZED (
    SELECT ready.row
    FROM unnest($5::integer[]) AS readable (version) /*served*/
    CROSS JOIN LATERAL (
        SELECT ctid AS row, seq FROM :schema.ready
        WHERE handler_key = $4 /*bytes*/ AND priority = 0 AND version = readable.version AND seq > $12
          AND NOT suspect /*theirs*/
        ORDER BY seq
        LIMIT $6 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high)
              - (SELECT count(*) FROM normal)
        FOR UPDATE SKIP LOCKED
    ) AS ready
    ORDER BY ready.seq
    LIMIT $6 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high)
              - (SELECT count(*) FROM normal)
),
found AS MATERIALIZED (
    SELECT ARRAY(
        SELECT row FROM urgent
        UNION ALL SELECT row FROM high
        UNION ALL SELECT row FROM normal
        UNION ALL SELECT row FROM low
    ) AS rows
),
-- By place in the table, which needs no plan that could go wrong.
taken AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY ((SELECT rows FROM found)::tid[]) AND ordering_key IS NULL
    RETURNING seq, priority, version, message_id, attempts + 1 AS attempt, delayed_retries
),
-- Sorted once for all arrays.
batch AS MATERIALIZED (
    SELECT * FROM taken ORDER BY priority DESC, seq
),
held AS (
    INSERT INTO :schema.lease (
        token, host, handler_key, suspect, max_attempts, leased_at, expires_at, message_ids,
        versions, priorities, attempts, delayed_retries, open, cancel, blocks
    )
    SELECT $2::uuid, $3::text, $4::text, false, $7::integer, clock.now, clock.now + $8::interval,
           arrays.message_ids, arrays.versions, arrays.priorities, arrays.attempts,
           arrays.delayed_retries, arrays.open, ~arrays.open, $13::boolean
    FROM clock, (
        -- Mostly all are alike: a fifth of the row is then enough.
        SELECT array_agg(message_id) AS message_ids,
               CASE WHEN min(version) = max(version) THEN ARRAY[min(version)]
                    ELSE array_agg(version) END AS versions,
               CASE WHEN min(priority) = max(priority) THEN ARRAY[min(priority)]
                    ELSE array_agg(priority) END AS priorities,
               CASE WHEN min(attempt) = max(attempt) THEN ARRAY[min(attempt)]
                    ELSE array_agg(attempt) END AS attempts,
               CASE WHEN min(delayed_retries) = max(delayed_retries)
                    THEN ARRAY[min(delayed_retries)]
                    ELSE array_agg(delayed_retries) END AS delayed_retries,
               repeat('1', count(*)::integer)::varbit AS open
        FROM batch
    ) AS arrays
    WHERE arrays.message_ids IS NOT NULL
    RETURNING leased_at
),
keyed AS MATERIALIZED (
    SELECT nullif(cardinality(found.rows) - (SELECT count(*) FROM batch), 0) AS count FROM found
)
SELECT $2::uuid, (SELECT leased_at FROM held), batch.seq, batch.priority, batch.attempt,
       batch.delayed_retries, batch.message_id, message.*, keyed.count
FROM keyed
LEFT JOIN batch ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM :schema.message
    WHERE id = batch.message_id
    LIMIT 1
) AS message ON true
