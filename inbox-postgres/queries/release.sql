-- lease → ready, by the one who holds it. The attempt is not counted.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
held AS MATERIALIZED (
    SELECT lease.*
    FROM clock, :schema.lease AS lease
    WHERE lease.token = ANY ($2) AND lease.expires_at > clock.now
    ORDER BY lease.token
    FOR UPDATE OF lease
),
ended AS (
    DELETE FROM :schema.lease AS lease USING held WHERE lease.token = held.token
),
returned AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect
    )
    SELECT held.handler_key, one.priority, one.version, one.message_id, one.attempt - 1,
           one.delayed_retries, held.suspect
    FROM held
    CROSS JOIN LATERAL unnest(
        held.message_ids, held.versions, held.priorities, held.attempts, held.delayed_retries
    ) WITH ORDINALITY AS one (message_id, version, priority, attempt, delayed_retries, bit)
    WHERE get_bit(held.open, one.bit::integer - 1) = 1
    ORDER BY held.token, one.bit
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT count(*) FROM returned
