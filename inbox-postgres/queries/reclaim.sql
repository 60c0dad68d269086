-- lease → ready, dead or done, for leases that have expired. The first time the deliveries become
-- suspects and nothing is counted; a suspect's own expired lease counts, and with its last attempt it
-- is dead. One that was cancelled meanwhile is done. A suspect is alone in its lease. Answers how many are
-- ready and done, what is over, which leases are, and the dead by name.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
candidate AS MATERIALIZED (
    SELECT lease.*
    FROM :schema.lease AS lease
    WHERE lease.expires_at <= (SELECT now FROM clock)
    ORDER BY lease.expires_at, lease.token
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
-- The limit is one of deliveries: as many leases as it takes to reach it.
expired AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT *, sum(bit_count(open)) OVER (ORDER BY expires_at, token) - bit_count(open) AS before
        FROM candidate
    ) AS counted
    WHERE before < $2
),
ended AS (
    DELETE FROM :schema.lease AS lease USING expired WHERE lease.token = expired.token
),
lost AS MATERIALIZED (
    SELECT expired.handler_key, expired.suspect, expired.blocks, expired.leased_at, expired.expires_at,
           one.message_id, coalesce(one.version, expired.versions[1]) AS version,
           coalesce(one.priority, expired.priorities[1]) AS priority,
           coalesce(one.attempt, expired.attempts[1]) AS attempt,
           coalesce(one.delayed_retries, expired.delayed_retries[1]) AS delayed_retries, one.bit,
           clock.now,
           CASE
               WHEN get_bit(expired.cancel, one.bit::integer - 1) = 1 THEN 'done'
               WHEN expired.suspect AND expired.attempts[1] >= expired.max_attempts THEN 'dead'
               ELSE 'ready'
           END AS place
    FROM clock, expired
    CROSS JOIN LATERAL unnest(
        expired.message_ids, expired.versions, expired.priorities, expired.attempts,
        expired.delayed_retries
    ) WITH ORDINALITY AS one (message_id, version, priority, attempt, delayed_retries, bit)
    WHERE get_bit(expired.open, one.bit::integer - 1) = 1
),
returned AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
        ordering_key, concurrency_key
    )
    SELECT handler_key, priority, version, message_id,
           CASE WHEN suspect THEN attempt ELSE attempt - 1 END, delayed_retries, true,
           coalesce(message.tenant, ''), message.ordering_key, message.concurrency_key
    FROM lost
    LEFT JOIN LATERAL (
        SELECT tenant, ordering_key, concurrency_key FROM :schema.message WHERE id = lost.message_id LIMIT 1
    ) AS message ON true
    WHERE place = 'ready'
    ORDER BY expires_at, bit
    ON CONFLICT DO NOTHING
),
done AS (
    INSERT INTO :schema.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, 'cancelled', attempt,
           greatest(now - leased_at, interval '0'), now
    FROM lost
    WHERE place = 'done'
),
dead AS (
    INSERT INTO :schema.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks
    )
    SELECT message_id, handler_key, version, priority, attempt, $3, $3, $4, now, blocks
    FROM lost
    WHERE place = 'dead'
    ON CONFLICT DO NOTHING
),
attempt AS (
    INSERT INTO :schema.attempt (
        message_id, handler_key, attempt, leased_at, settled_at, error_type, error
    )
    SELECT message_id, handler_key, attempt, leased_at, now, $3, $4
    FROM lost
    WHERE suspect AND place <> 'done'
)
SELECT count(*) FILTER (WHERE place = 'ready'), count(*) FILTER (WHERE place = 'done'),
       coalesce(array_agg(message_id) FILTER (WHERE place <> 'ready'), '{}'),
       ARRAY(SELECT token FROM expired),
       -- In one order, so that they belong together.
       ARRAY(SELECT message_id FROM lost WHERE place = 'dead' ORDER BY message_id, handler_key),
       ARRAY(SELECT handler_key FROM lost WHERE place = 'dead' ORDER BY message_id, handler_key),
       ARRAY(SELECT attempt FROM lost WHERE place = 'dead' ORDER BY message_id, handler_key)
FROM lost
