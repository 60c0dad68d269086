-- lanes → this lease, of which lane_take.sql takes the deliveries: at most $lanes, and of those only lanes whose
-- turn comes before $limit deliveries that have no ordering key. Answers what has an ordering key and was looked at.
--
-- A lane is won by whoever inserts its row, or finds it without a holder or held by a delivery that is ready. One
-- that is changing hands is left.
WITH clock AS MATERIALIZED (
    SELECT coalesce($now::timestamptz, clock_timestamp()) AS now
),
{{first}},
{{found}},
{{queued}},
seen AS MATERIALIZED (
    SELECT tenant, ordering_key, min(ARRAY[array_position($levels::smallint[], level), seq]) AS turn
    FROM queued
    GROUP BY tenant, ordering_key
    ORDER BY turn
),
-- Looked at one after the other, until there are enough.
lane AS MATERIALIZED (
    SELECT seen.*, free.is_new
    FROM seen
    CROSS JOIN LATERAL (
        SELECT lane.mark IS NULL AS is_new
        FROM (SELECT 1) AS one
        LEFT JOIN LATERAL (
            SELECT lease_id, message_id, head_key, mark FROM :schema.lane WHERE {{lane_of}} LIMIT 1
        ) AS lane ON true
        WHERE lane.lease_id IS NULL AND (
            lane.message_id IS NULL
            OR (lane.message_id, lane.head_key) IN (SELECT queued.message_id, $handler_key FROM queued)
        )
    ) AS free
    LIMIT CASE WHEN $fleet::integer IS NULL THEN $lanes::bigint ELSE least($lanes, greatest(
        $fleet - (SELECT :schema.permits_used(first.key) FROM first), 0)) END
),
fit AS MATERIALIZED (
    SELECT turn, tenant, ordering_key, is_new FROM lane
    UNION ALL
    SELECT ARRAY[array_position($levels::smallint[], level), seq], NULL, NULL, NULL FROM found
    ORDER BY turn
    LIMIT $limit::bigint
),
-- In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO :schema.lane (handler_key, tenant, ordering_key, lease_id, since)
    SELECT first.key, fit.tenant, fit.ordering_key, $lease, clock.now
    FROM clock, first, fit
    WHERE fit.is_new
    ORDER BY fit.tenant, fit.ordering_key
    ON CONFLICT DO NOTHING
),
open AS MATERIALIZED (
    SELECT lane.row
    FROM fit AS seen
    CROSS JOIN LATERAL (
        SELECT ctid AS row
        FROM :schema.lane
        WHERE {{lane_of}} AND lease_id IS NULL
          AND (message_id IS NULL OR (message_id, head_key) IN (SELECT queued.message_id, $handler_key FROM queued))
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lane
    WHERE NOT seen.is_new
),
entered AS (
    UPDATE :schema.lane AS lane
    SET lease_id = $lease, message_id = NULL, head_key = NULL, since = clock.now
    FROM clock, open
    WHERE lane.ctid = open.row
)
SELECT $lease::uuid AS claim, queued.seq, queued.level, queued.version,
       (tenant, ordering_key) IN (SELECT tenant, ordering_key FROM lane) AS is_free, tenant, ordering_key
FROM clock
LEFT JOIN queued ON true
