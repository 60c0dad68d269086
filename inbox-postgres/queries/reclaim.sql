-- held → ready, dead or done, for leases that have expired. The attempt is not counted, and recorded with the
-- host that vanished. What a worker is about to settle is locked, and left to it. Answers each by name.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
expired AS MATERIALIZED (
    SELECT lease.id, lease.host, lease.alone, lease.max_crashes
    FROM :schema.lease AS lease
    WHERE lease.expires_at <= (SELECT now FROM clock)
    ORDER BY lease.expires_at, lease.id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
mine AS MATERIALIZED (
    SELECT held.*, expired.host, clock.now, held.crashes + 1 AS vanished, CASE
               WHEN held.cancel THEN 'cancelled'
               -- The first two accuse nobody, and the last one must have held it alone.
               WHEN expired.alone AND held.crashes - 1 >= expired.max_crashes THEN 'dead'
               ELSE 'pending'
           END AS state
    FROM clock, expired
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.*
        FROM :schema.held AS held
        WHERE held.lease_id = expired.id
        ORDER BY held.lease_id, held.message_id
        LIMIT $2
        FOR UPDATE SKIP LOCKED
    ) AS held
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
let_go AS (
    DELETE FROM :schema.held WHERE ctid = ANY (ARRAY(
        SELECT row FROM mine
        UNION ALL
        -- One that was cancelled while this waited for it is where this statement cannot see it yet. It is
        -- found from where it was.
        SELECT was.row
        FROM mine
        CROSS JOIN LATERAL (
            SELECT ctid AS row
            FROM :schema.held AS held
            WHERE held.lease_id = mine.lease_id AND held.message_id = mine.message_id
            LIMIT 1
        ) AS was
        WHERE mine.cancel
    ))
),
returned AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempt - 1, vanished, tenant, ordering_key,
           concurrency_key, carry
    FROM mine
    WHERE state = 'pending'
    ORDER BY leased_at, message_id
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
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks
    )
    SELECT message_id, handler_key, version, priority, attempt - 1, $3, $3, $4, now, blocks
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
    WHERE state <> 'cancelled'
)
SELECT message_id, handler_key, host, attempt - 1, vanished, state, ordering_key IS NOT NULL AS has_lane,
       CASE WHEN limited OR concurrency_key IS NOT NULL THEN first_key END, tenant, concurrency_key
FROM mine
