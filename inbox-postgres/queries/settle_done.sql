-- held → done, for a call in which all are: what happens most, with fewer steps than settle.sql needs for any
-- mixture. To delete the row is the settlement; the answer names what was found.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
mine AS MATERIALIZED (
    SELECT asked.nth, asked.word, held.*
    FROM unnest($2::uuid[], $3::uuid[], $4::text[])
        WITH ORDINALITY AS asked (lease_id, message_id, word, nth)
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.lease_id, held.message_id, handler_key, attempt, leased_at, cancel
        FROM :schema.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
        FOR UPDATE
    ) AS held
),
{{over}},
done AS (
    INSERT INTO :schema.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempt, greatest(clock.now - leased_at, interval '0'), clock.now
    FROM clock, mine
)
SELECT nth, false FROM mine
{{check}}
