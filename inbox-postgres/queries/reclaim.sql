-- held → ready, dead or done, for leases that have expired. The attempt is not counted, and recorded with the
-- host that vanished. What a worker is about to settle is locked, and left to it. Answers each by name.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
expired AS MATERIALIZED (
    SELECT lease.id, lease.host, lease.alone, lease.max_crashes
    FROM :schema.lease AS lease
    WHERE lease.expires_at <= (SELECT now FROM clock)
      -- Not while somebody settles a run of it: of a run, the last ones are taken first.
      AND (SELECT count(*) FROM :schema.lane WHERE lane.lease_id = lease.id) = (
          SELECT count(*)
          FROM (SELECT 1 FROM :schema.lane WHERE lane.lease_id = lease.id FOR UPDATE SKIP LOCKED) AS mine
      )
    ORDER BY lease.expires_at, lease.id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
mine AS MATERIALIZED (
    SELECT held.*, expired.host, clock.now, begun.is_first, one.state,
           held.crashes + (begun.is_first OR NOT begun.was_careful)::integer AS vanished,
           one.state = 'dead' AND held.blocks AS blocks_lane
    FROM clock, expired
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.*
        FROM :schema.held AS held
        WHERE held.lease_id = expired.id
        ORDER BY held.position DESC
        LIMIT $2
        FOR UPDATE SKIP LOCKED
    ) AS held
    -- Of a run in which one had a crash before, each began when the one before was settled: so the first one had
    -- begun. Of another run, nobody knows how many had.
    CROSS JOIN LATERAL (
        SELECT (
            SELECT true
            FROM :schema.held AS before
            WHERE before.lease_id = expired.id AND before.tenant = held.tenant
              AND before.ordering_key = held.ordering_key AND before.position < held.position
            LIMIT 1
        ) IS NULL AS is_first, (
            SELECT true
            FROM :schema.held AS crashed
            WHERE crashed.lease_id = expired.id AND crashed.tenant = held.tenant
              AND crashed.ordering_key = held.ordering_key AND crashed.crashes > 0
            LIMIT 1
        ) IS NOT NULL AS was_careful
    ) AS begun
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN held.cancel THEN 'cancelled'
            -- The first two accuse nobody, and the last one must have held it alone.
            WHEN expired.alone AND held.crashes - 1 >= expired.max_crashes THEN 'dead'
            ELSE 'pending'
        END AS state
    ) AS one
    LIMIT $2
),
-- Also what was left empty.
over AS MATERIALIZED (
    SELECT id
    FROM expired
    WHERE (
        SELECT true
        FROM :schema.held AS held
        WHERE held.lease_id = expired.id
          AND (held.lease_id, held.message_id) NOT IN (SELECT lease_id, message_id FROM mine)
        LIMIT 1
    ) IS NULL
),
ended AS (
    DELETE FROM :schema.lease WHERE id = ANY (ARRAY(SELECT id FROM over))
),
-- Of the others, the worker must not begin what is taken from it here.
lost AS (
    UPDATE :schema.lease SET reclaimed = true
    WHERE id = ANY (ARRAY(SELECT lease_id FROM mine EXCEPT SELECT id FROM over))
),
{{let_go}},
{{kept}},
returned AS (
    INSERT INTO :schema.ready ({{delivery}}, position, attempts, crashes, carry)
    SELECT {{delivery}}, position, attempt - 1, vanished, carry
    FROM mine
    WHERE state = 'pending'
    ORDER BY leased_at, position
    ON CONFLICT DO NOTHING
),
done AS (
    INSERT INTO :schema.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, state, attempt - 1, greatest(now - leased_at, interval '0'), now
    FROM mine
    WHERE state = 'cancelled'
),
dead AS (
    INSERT INTO :schema.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks, position
    )
    SELECT message_id, handler_key, version, priority, attempt - 1, $3, $3, $4, now, blocks, position
    FROM mine
    WHERE state = 'dead'
    ON CONFLICT DO NOTHING
),
attempt AS (
    INSERT INTO :schema.attempt (
        message_id, handler_key, attempt, host, leased_at, settled_at, error_type, error
    )
    SELECT message_id, handler_key, attempt, host, leased_at, now, $3, $4
    FROM mine
    WHERE state <> 'cancelled' AND is_first
)
SELECT message_id, handler_key, host, attempt - 1, vanished, state, first_key, tenant, ordering_key,
       limited OR concurrency_key IS NOT NULL AS is_counted, concurrency_key
FROM mine
