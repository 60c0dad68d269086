-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_shared.sql. A row with a key that is met is left, and counted. Each row of the answer names the claim,
-- and there is one even if nothing was taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($now::timestamptz, clock_timestamp()) AS now
),
{{first}},
{{found}},
taken AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM found WHERE ordering_key IS NULL))
    RETURNING *
),
{{hold}}
SELECT $lease::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*,
       (SELECT count(*) FROM found WHERE ordering_key IS NOT NULL) AS keyed
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL {{message}} ON true
