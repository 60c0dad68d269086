-- lease → done, for a call in which all are: what happens most, with fewer steps than settle.sql needs for
-- any mixture. A lease that is gone or has expired settles nothing; the answer names what was settled.
-- The leases are touched first, in the order of tokens.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
asked AS (
    SELECT *
    FROM unnest($2::uuid[], $3::uuid[], $4::text[])
        WITH ORDINALITY AS given (token, message_id, word, nth)
),
held AS MATERIALIZED (
    SELECT lease.token, lease.handler_key, lease.leased_at, lease.open, lease.message_ids,
           lease.attempts
    FROM clock, :schema.lease AS lease
    WHERE lease.token = ANY ($2) AND lease.expires_at > clock.now
    ORDER BY lease.token
    FOR UPDATE OF lease
),
-- Every delivery of the leases, settled or not.
one AS MATERIALIZED (
    SELECT held.token, held.handler_key, held.leased_at, one.message_id,
           coalesce(one.attempt, held.attempts[1]) AS attempt, one.bit,
           get_bit(held.open, one.bit::integer - 1) = 1 AS is_open, asked.word, asked.nth
    FROM held
    CROSS JOIN LATERAL unnest(held.message_ids, held.attempts)
        WITH ORDINALITY AS one (message_id, attempt, bit)
    LEFT JOIN asked ON asked.token = held.token AND asked.message_id = one.message_id
),
rest AS MATERIALIZED (
    SELECT token,
           string_agg(CASE WHEN is_open AND nth IS NULL THEN '1' ELSE '0' END, '' ORDER BY bit)::varbit
               AS open
    FROM one
    GROUP BY token
),
kept AS (
    UPDATE :schema.lease AS lease
    SET open = rest.open
    FROM rest
    WHERE lease.token = rest.token AND position(B'1' IN rest.open) > 0
),
ended AS (
    DELETE FROM :schema.lease AS lease
    USING rest
    WHERE lease.token = rest.token AND position(B'1' IN rest.open) = 0
),
done AS (
    INSERT INTO :schema.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT one.message_id, one.handler_key, one.word, one.attempt,
           greatest(clock.now - one.leased_at, interval '0'), clock.now
    FROM clock, one
    WHERE one.is_open AND one.nth IS NOT NULL
)
SELECT nth FROM one WHERE is_open AND nth IS NOT NULL
