-- Hands on the lanes among these whose run is over: to the delivery that is in the way or, if there is none, to
-- whoever claims the next one, which is ready then, under a fresh number where it waited. Where there is none, the
-- lane ends. The lanes were locked before, by a statement of its own. Answers how many have a next one.
WITH lane AS MATERIALIZED (
{{which}}
),
state AS MATERIALIZED (
    SELECT lane.*, {{lane_state}}
    FROM lane
),
-- A mark is safe when all transactions that were older when it was noted have ended, and nothing of the lane waits
-- for a route: either may bring a delivery with an older position.
over AS MATERIALIZED (
    SELECT state.row AS lane, next.*, state.later_xid <= pg_snapshot_xmin(pg_current_snapshot()) AND (
               SELECT true
               FROM :schema.route AS route
               CROSS JOIN LATERAL (
                   SELECT 1
                   FROM :schema.waiting AS waiting
                   WHERE waiting.handler_key = '' AND waiting.contract = route.contract
                     AND waiting.tenant = state.tenant AND waiting.ordering_key = state.ordering_key
                   LIMIT 1
               ) AS unrouted
               WHERE state.handler_key IN (route.handler_key, route.first_key)
               LIMIT 1
           ) IS NULL AS may_advance
    FROM state
    LEFT JOIN LATERAL :schema.lane_next(state.handler_key, state.tenant, state.ordering_key, state.mark, 1) AS next
        ON true
    WHERE NOT state.runs AND NOT state.has_head
),
next AS MATERIALIZED (
    SELECT place AS row FROM over WHERE waits
),
{{wake}},
handed_on AS (
    UPDATE :schema.lane AS lane
    SET lease_id = NULL, message_id = NULL, head_key = NULL, since = coalesce($1::timestamptz, clock_timestamp()),
        mark = CASE WHEN may_advance THEN least(lane.later_mark, over.position) ELSE lane.mark END,
        later_mark = CASE WHEN may_advance OR lane.later_mark IS NULL THEN over.position ELSE lane.later_mark END,
        later_xid = CASE
            WHEN may_advance OR lane.later_mark IS NULL THEN NULL
            ELSE coalesce(lane.later_xid, {{xid}})
        END
    FROM over
    WHERE lane.ctid = over.lane AND over.position IS NOT NULL
),
left_to_head AS (
    UPDATE :schema.lane SET lease_id = NULL
    WHERE ctid = ANY (ARRAY(SELECT row FROM state WHERE lease_id IS NOT NULL AND NOT runs AND has_head))
),
ended AS (
    DELETE FROM :schema.lane WHERE ctid = ANY (ARRAY(SELECT lane FROM over WHERE position IS NULL))
)
SELECT count(*) FROM over WHERE position IS NOT NULL
