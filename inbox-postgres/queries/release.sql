-- lease → ready, by the one who holds it or did until it expired, and the attempt is not counted; or
-- done, where it was cancelled meanwhile. Answers how many are ready, and what is done.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
held AS MATERIALIZED (
    SELECT lease.*
    FROM :schema.lease AS lease
    WHERE lease.token = ANY ($2)
    ORDER BY lease.token
    FOR UPDATE OF lease
),
ended AS (
    DELETE FROM :schema.lease AS lease USING held WHERE lease.token = held.token
),
open AS MATERIALIZED (
    SELECT held.token, held.handler_key, held.leased_at, held.suspect,
           one.message_id, coalesce(one.version, held.versions[1]) AS version,
           coalesce(one.priority, held.priorities[1]) AS priority,
           coalesce(one.attempt, held.attempts[1]) AS attempt,
           coalesce(one.delayed_retries, held.delayed_retries[1]) AS delayed_retries, one.bit,
           get_bit(held.cancel, one.bit::integer - 1) = 1 AS cancelled
    FROM held
    CROSS JOIN LATERAL unnest(
        held.message_ids, held.versions, held.priorities, held.attempts, held.delayed_retries
    ) WITH ORDINALITY AS one (message_id, version, priority, attempt, delayed_retries, bit)
    WHERE get_bit(held.open, one.bit::integer - 1) = 1
),
done AS (
    INSERT INTO :schema.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT open.message_id, open.handler_key, 'cancelled', open.attempt - 1,
           greatest(clock.now - open.leased_at, interval '0'), clock.now
    FROM clock, open
    WHERE open.cancelled
    RETURNING message_id
),
returned AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
        ordering_key, concurrency_key
    )
    SELECT handler_key, priority, version, message_id, attempt - 1, delayed_retries, suspect,
           coalesce(message.tenant, ''), message.ordering_key, message.concurrency_key
    FROM open
    LEFT JOIN LATERAL (
        SELECT tenant, ordering_key, concurrency_key FROM :schema.message WHERE id = open.message_id LIMIT 1
    ) AS message ON true
    WHERE NOT cancelled
    ORDER BY token, bit
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT (SELECT count(*) FROM returned), ARRAY(SELECT message_id FROM done)
