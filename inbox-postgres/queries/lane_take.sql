-- ready or waiting behind a lane → held, for the lanes that this lease has won: the oldest deliveries of each, in
-- their order, up to the first that this worker may not take. By a statement of its own after the lanes were won: so
-- it sees what their former holders put back. A lane of which nothing can be taken goes to the delivery in the way.
WITH clock AS MATERIALIZED (
    SELECT coalesce($now::timestamptz, clock_timestamp()) AS now
),
{{first}},
mine AS MATERIALIZED (
    SELECT ctid AS lane, tenant, ordering_key, mark, (
               SELECT greatest($limit::bigint - (SELECT count(*) FROM :schema.held WHERE lease_id = $lease), 0)
           ) / count(*) OVER () AS share
    FROM :schema.lane
    WHERE lease_id = $lease
),
oldest AS MATERIALIZED (
    SELECT mine.lane, mine.tenant, mine.ordering_key, one.*, row_number() OVER lane = 1 AS is_first,
           ($quarantined::boolean IS NULL OR (one.crashes >= 2) = $quarantined)
           AND (one.handler_key, one.version) IN (
               SELECT * FROM unnest($read_keys::text[], $read_versions::integer[])
           )
           -- One message twice, under two keys that took the place of one: each in a run of its own.
           AND row_number() OVER (PARTITION BY mine.lane, one.message_id ORDER BY one.position) = 1
           AND ($per_key::integer IS NULL
                OR one.concurrency_key IS NOT DISTINCT FROM first_value(one.concurrency_key) OVER lane) AS is_mine
    FROM first
    CROSS JOIN mine
    CROSS JOIN LATERAL :schema.lane_next(
        first.key, mine.tenant, mine.ordering_key, mine.mark, greatest(1, least($length::bigint, mine.share))
    ) AS one
    WINDOW lane AS (PARTITION BY mine.lane ORDER BY one.position)
),
-- Whoever may be gone in a moment is nobody's next, and nobody waits for it.
in_ready AS MATERIALIZED (
    SELECT ctid AS place FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT place FROM oldest WHERE NOT waits))
    FOR UPDATE SKIP LOCKED
),
in_waiting AS MATERIALIZED (
    SELECT ctid AS place FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT place FROM oldest WHERE waits))
    FOR UPDATE SKIP LOCKED
),
-- Nearly always all of them: then nobody looks which.
there AS MATERIALIZED (
    SELECT (SELECT count(*) FROM in_ready) + (SELECT count(*) FROM in_waiting) = count(*) AS are_all FROM oldest
),
stays AS MATERIALIZED (
    SELECT *
    FROM oldest
    WHERE (SELECT are_all FROM there) OR CASE
        WHEN waits THEN place IN (SELECT place FROM in_waiting)
        ELSE place IN (SELECT place FROM in_ready)
    END
),
{{crowded}},
run AS MATERIALIZED (
    SELECT place, waits
    FROM (
        SELECT oldest.*, bool_and(is_mine AND (
                   (SELECT are_all FROM there) OR (place, waits) IN (SELECT place, waits FROM stays)
               )) OVER (PARTITION BY lane ORDER BY position) AS goes_on
        FROM oldest
    ) AS oldest
    WHERE goes_on AND lane NOT IN (SELECT lane FROM crowded)
),
was_ready AS (
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT place FROM run WHERE NOT waits)) RETURNING *
),
was_waiting AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT place FROM run WHERE waits)) RETURNING *
),
taken AS MATERIALIZED (
    SELECT {{delivery}}, position, attempts, crashes, carry
    FROM was_ready
    UNION ALL
    SELECT {{delivery}}, position, attempts, crashes, carry
    FROM was_waiting
),
{{hold}},
-- Of which nothing could be taken: the delivery in the way, if there is one. It is ready, or nobody finds it.
empty AS MATERIALIZED (
    SELECT mine.lane, stays.message_id, stays.handler_key, stays.place AS row, stays.waits AS was_waiting,
           mine.lane NOT IN (SELECT lane FROM oldest) AS is_over
    FROM mine
    LEFT JOIN stays ON stays.lane = mine.lane AND stays.is_first
    WHERE (mine.tenant, mine.ordering_key) NOT IN (SELECT tenant, ordering_key FROM taken)
),
next AS MATERIALIZED (
    SELECT row FROM empty WHERE was_waiting AND lane NOT IN (SELECT lane FROM crowded)
),
{{wake}},
given_up AS (
    UPDATE :schema.lane AS lane
    SET lease_id = NULL, message_id = empty.message_id, head_key = empty.handler_key
    FROM empty
    WHERE lane.ctid = empty.lane AND NOT empty.is_over
),
ended AS (
    DELETE FROM :schema.lane WHERE ctid = ANY (ARRAY(SELECT lane FROM empty WHERE is_over))
)
SELECT $lease::uuid AS claim, clock.now, taken.position AS seq, taken.priority AS level, taken.version,
       taken.attempts + 1 AS attempt, taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*,
       taken.tenant AS lane_tenant, taken.ordering_key AS lane_key
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL {{message}} ON true
ORDER BY taken.tenant, taken.ordering_key, taken.position
