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
next AS MATERIALIZED (
    SELECT over.row AS lane, over.later_xid <= pg_snapshot_xmin(pg_current_snapshot()) AS may_advance, next.*
    FROM (SELECT * FROM state WHERE NOT runs AND NOT has_head) AS over
    LEFT JOIN LATERAL :schema.lane_next(over.handler_key, over.tenant, over.ordering_key, over.mark, 1) AS next ON true
),
woken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT place FROM next WHERE waits)) RETURNING *
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        position, carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
           position, carry
    FROM woken
),
-- With the mark that is safe: a transaction that was open when it was noted may have committed something older.
handed_on AS (
    UPDATE :schema.lane AS lane
    SET lease_id = NULL, message_id = NULL, head_key = NULL, since = coalesce($1::timestamptz, clock_timestamp()),
        mark = CASE WHEN may_advance THEN least(lane.later_mark, next.position) ELSE lane.mark END,
        later_mark = CASE WHEN may_advance IS NOT false THEN next.position ELSE lane.later_mark END,
        later_xid = CASE
            WHEN may_advance IS NOT false THEN pg_snapshot_xmax(pg_current_snapshot())
            ELSE lane.later_xid
        END
    FROM next
    WHERE lane.ctid = next.lane AND next.position IS NOT NULL
),
left_to_head AS (
    UPDATE :schema.lane SET lease_id = NULL
    WHERE ctid = ANY (ARRAY(SELECT row FROM state WHERE lease_id IS NOT NULL AND NOT runs AND has_head))
),
ended AS (
    DELETE FROM :schema.lane WHERE ctid = ANY (ARRAY(SELECT lane FROM next WHERE position IS NULL))
)
SELECT count(*) FROM next WHERE position IS NOT NULL
