-- waiting → ready, for deliveries whose time has come, the one that waited longest first.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
due AS MATERIALIZED (
    SELECT ctid AS row
    FROM :schema.waiting
    -- A subselect, and no join: only so is it a condition of the index.
    WHERE handler_key <> '' AND first_key IS NULL AND due_at <= (SELECT now FROM clock)
    ORDER BY due_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
taken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM due)) RETURNING *
),
promoted AS (
    INSERT INTO :schema.ready ({{delivery}}, position, attempts, crashes, carry)
    -- One that starts only now is accepted now, as far as its lane is concerned.
    SELECT {{delivery}}, CASE reason WHEN 'delay' THEN nextval(:position) ELSE position END, attempts, crashes, carry
    FROM taken
    ORDER BY due_at, message_id, handler_key
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken
