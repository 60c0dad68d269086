-- ready or waiting → done; held → held, whose worker is to stop. Answers which deliveries it found, and whether
-- each is done: one that moves meanwhile is in neither place, and looked for again.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
-- By its message alone, what is held is found by reading all of it.
in_flight AS MATERIALIZED (
    SELECT ctid AS row
    FROM :schema.held
    WHERE message_id = $2::uuid AND ($3::text IS NULL OR handler_key = $3)
    ORDER BY lease_id
    FOR UPDATE
),
asked AS (
    UPDATE :schema.held
    SET cancel = true
    WHERE ctid = ANY (ARRAY(SELECT row FROM in_flight))
    RETURNING handler_key
),
was_ready AS (
    DELETE FROM :schema.ready
    WHERE message_id = $2 AND ($3 IS NULL OR handler_key = $3)
    RETURNING handler_key, attempts
),
was_waiting AS (
    DELETE FROM :schema.waiting
    WHERE message_id = $2 AND ($3 IS NULL OR handler_key = $3)
    RETURNING handler_key, attempts
),
taken AS MATERIALIZED (
    SELECT * FROM was_ready UNION ALL SELECT * FROM was_waiting
),
done AS (
    INSERT INTO :schema.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT $2, taken.handler_key, 'cancelled', taken.attempts, interval '0', clock.now
    FROM clock, taken
)
SELECT handler_key, true AS is_done FROM taken
UNION ALL
SELECT handler_key, false FROM asked
