-- lease → ready or dead, for leases that have expired. The first time the deliveries become suspects
-- and nothing is counted; a suspect's own expired lease counts, and with its last attempt it is dead.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
expired AS MATERIALIZED (
    SELECT lease.*
    FROM :schema.lease AS lease
    WHERE lease.expires_at <= (SELECT now FROM clock)
    ORDER BY lease.expires_at, lease.token
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
ended AS (
    DELETE FROM :schema.lease AS lease USING expired WHERE lease.token = expired.token
),
lost AS MATERIALIZED (
    SELECT expired.handler_key, expired.suspect, expired.leased_at, expired.expires_at, one.*,
           expired.suspect AND one.attempt >= expired.max_attempts AS is_last, clock.now
    FROM clock, expired
    CROSS JOIN LATERAL unnest(
        expired.message_ids, expired.versions, expired.priorities, expired.attempts,
        expired.delayed_retries
    ) WITH ORDINALITY AS one (message_id, version, priority, attempt, delayed_retries, bit)
    WHERE get_bit(expired.open, one.bit::integer - 1) = 1
),
returned AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect
    )
    SELECT handler_key, priority, version, message_id,
           CASE WHEN suspect THEN attempt ELSE attempt - 1 END, delayed_retries, true
    FROM lost
    WHERE NOT is_last
    ORDER BY expires_at, bit
    ON CONFLICT DO NOTHING
),
dead AS (
    INSERT INTO :schema.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at
    )
    SELECT message_id, handler_key, version, priority, attempt, $3, $3, $4, now
    FROM lost
    WHERE is_last
    ON CONFLICT DO NOTHING
),
attempt AS (
    INSERT INTO :schema.attempt (
        message_id, handler_key, attempt, leased_at, settled_at, error_type, error
    )
    SELECT message_id, handler_key, attempt, leased_at, now, $3, $4
    FROM lost
    WHERE suspect
)
SELECT count(*) FILTER (WHERE NOT is_last), count(*) FILTER (WHERE is_last) FROM lost
