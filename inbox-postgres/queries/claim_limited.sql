-- ready → held, as claim.sql does, for a handler with limits. What exceeds the limit of its key goes to waiting.
-- The answer also says what became of what was looked at and not taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($now::timestamptz, clock_timestamp()) AS now
),
{{first}},
{{room}},
{{found}},
{{limited}},
taken AS (
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
{{hold}},
answer AS MATERIALIZED (
    SELECT seq, level, version, attempts + 1 AS attempt, crashes, carry::text, handler_key, message_id, 'taken' AS fate
    FROM taken
    UNION ALL
    SELECT seq, level, version, NULL, NULL, NULL, NULL, NULL, CASE
               WHEN row IN (SELECT row FROM crowded) THEN 'moved'
               -- The fleet has no room for it, and need not be asked again until it has.
               ELSE 'full'
           END
    FROM found
    WHERE row NOT IN (SELECT row FROM granted)
)
SELECT $lease::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempt, taken.crashes,
       taken.carry, taken.handler_key, taken.message_id, message.*, {{has_lanes}}, taken.fate,
       (SELECT permits FROM room) AS permits
FROM clock
LEFT JOIN answer AS taken ON true
LEFT JOIN LATERAL {{message}} ON taken.fate = 'taken'
