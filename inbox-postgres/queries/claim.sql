-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_limited.sql. Each row of the answer names the claim, and there is one even if nothing was taken. It also says
-- whether the handler has anything with an ordering key, which this claim does not look at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($now::timestamptz, clock_timestamp()) AS now
),
{{first}},
{{found}},
taken AS (
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT row FROM found)) RETURNING *
),
{{hold}}
SELECT $lease::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempts + 1 AS attempt,
       taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*, {{has_lanes}}
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL {{message}} ON true
