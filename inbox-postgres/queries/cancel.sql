-- ready or waiting → done; lease → lease, whose worker is to stop. Answers which deliveries it found,
-- and whether each is done: one that moves meanwhile is in neither place, and looked for again.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
-- Locked in the order of tokens, as settle does.
held AS MATERIALIZED (
    SELECT lease.token
    FROM :schema.lease AS lease
    WHERE lease.message_ids @> ARRAY[$2::uuid] AND ($3::text IS NULL OR lease.handler_key = $3)
    ORDER BY lease.token
    FOR UPDATE
),
asked AS (
    UPDATE :schema.lease AS lease
    SET cancel = set_bit(lease.cancel, array_position(lease.message_ids, $2) - 1, 1)
    FROM held
    WHERE lease.token = held.token
      AND get_bit(lease.open, array_position(lease.message_ids, $2) - 1) = 1
    RETURNING lease.handler_key
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
