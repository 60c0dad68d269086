-- ready → waiting, for what is met behind a lane that somebody holds, where that keeps a claim from finding enough:
-- the next ones get at what comes after it. Under a lock that whoever ends the run takes too, so that nobody is left
-- behind. Answers what was looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($now::timestamptz, clock_timestamp()) AS now
),
{{first}},
{{queued}},
lane AS MATERIALIZED (
    SELECT lane.*
    FROM (SELECT DISTINCT tenant, ordering_key FROM queued) AS seen
    CROSS JOIN LATERAL (
        SELECT tenant, ordering_key, message_id, head_key
        FROM :schema.lane
        WHERE {{lane_of}} AND num_nonnulls(lease_id, message_id) > 0
        LIMIT 1
        FOR SHARE SKIP LOCKED
    ) AS lane
),
-- Enough are as many deliveries as were wanted, less what is left over where lanes share them; or as many lanes.
enough AS MATERIALIZED (
    SELECT won.count >= $lanes::bigint OR won.count + held.count > $limit::bigint OR held.count >= $limit AS are_found
    FROM (SELECT count(*) FROM :schema.lane WHERE lease_id = $lease) AS won,
         (SELECT count(*) FROM :schema.held WHERE lease_id = $lease) AS held
),
behind AS MATERIALIZED (
    SELECT row
    FROM queued
    WHERE NOT (SELECT are_found FROM enough)
      AND (tenant, ordering_key) IN (SELECT tenant, ordering_key FROM lane)
      AND message_id NOT IN (
          SELECT message_id FROM lane WHERE head_key = $handler_key AND message_id IS NOT NULL
      )
),
moved AS (
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT row FROM behind)) RETURNING *
),
put_behind AS (
    INSERT INTO :schema.waiting ({{delivery}}, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT {{delivery}}, position, attempts, crashes, carry, clock.now, 'lane', first.key
    FROM clock, first, moved
)
SELECT $lease::uuid AS claim, queued.seq, queued.level, queued.version,
       queued.row IN (SELECT row FROM behind) AS is_moved
FROM clock
LEFT JOIN queued ON true
