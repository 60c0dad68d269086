-- waiting → ready, for deliveries whose time has come, the one that waited longest first.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
due AS MATERIALIZED (
    SELECT waiting.ctid AS row
    FROM clock, :schema.waiting AS waiting
    WHERE waiting.handler_key <> '' AND waiting.due_at <= clock.now
    ORDER BY waiting.due_at
    LIMIT $2
    FOR UPDATE OF waiting SKIP LOCKED
),
taken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM due)) RETURNING *
),
promoted AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries
    )
    SELECT handler_key, priority, version, message_id, attempts, delayed_retries
    FROM taken
    ORDER BY due_at, message_id, handler_key
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken
