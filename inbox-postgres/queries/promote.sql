-- waiting → ready, for deliveries whose time has come, the one that waited longest first.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
due AS MATERIALIZED (
    SELECT ctid AS row
    FROM :schema.waiting
    -- A subselect, and no join: only so is it a condition of the index.
    WHERE handler_key <> '' AND shared_key IS NULL AND due_at <= (SELECT now FROM clock)
    ORDER BY due_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
taken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM due)) RETURNING *
),
promoted AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
        ordering_key, concurrency_key
    )
    SELECT taken.handler_key, taken.priority, taken.version, taken.message_id, taken.attempts,
           taken.delayed_retries, taken.suspect, coalesce(message.tenant, ''), message.ordering_key,
           message.concurrency_key
    FROM taken
    LEFT JOIN LATERAL (
        SELECT tenant, ordering_key, concurrency_key FROM :schema.message WHERE id = taken.message_id LIMIT 1
    ) AS message ON true
    ORDER BY taken.due_at, taken.message_id, taken.handler_key
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken
