-- ready → dead, for a key that no live host serves, not even by now.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
orphan AS MATERIALIZED (
    SELECT ready.ctid AS row
    FROM :schema.ready AS ready
    WHERE ready.handler_key = $2 AND NOT EXISTS (
        SELECT 1
        FROM clock, :schema.host AS host
        WHERE host.seen_at + $3::interval > clock.now AND host.serves ? $2
    )
    ORDER BY ready.handler_key, ready.priority, ready.version, ready.seq
    LIMIT $4
    FOR UPDATE OF ready SKIP LOCKED
),
taken AS (
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT row FROM orphan)) RETURNING *
),
dead AS (
    INSERT INTO :schema.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at
    )
    SELECT taken.message_id, taken.handler_key, taken.version, taken.priority, taken.attempts, $5, $5,
           $6, clock.now
    FROM clock, taken
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken
