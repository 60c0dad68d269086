-- Hands on the lanes whose heads were these messages and are over: done, or dead where that lets others pass.
-- The next has a fresh number, so that workers find it. Where there is none, the lane ends. The lanes were
-- locked before, and by a statement of their own. Answers how many have a next one.
WITH over AS MATERIALIZED (
    SELECT lane.ctid AS row, lane.handler_key, lane.tenant, lane.ordering_key
    FROM :schema.lane AS lane
    WHERE lane.message_id = ANY ($2::uuid[])
      -- One look at each: what asks whether it exists may be answered by reading all that is done.
      AND (coalesce((
              SELECT true FROM :schema.done AS done
              WHERE done.message_id = lane.message_id AND done.handler_key = lane.head_key
              LIMIT 1
          ), (
              SELECT true FROM :schema.dead AS dead
              WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
                AND NOT dead.blocks
              LIMIT 1
          ), false) {{gone}})
),
next AS MATERIALIZED (
    SELECT over.row AS lane, next.*
    FROM over
    LEFT JOIN LATERAL :schema.lane_next(over.handler_key, over.tenant, over.ordering_key) AS next ON true
),
waits AS MATERIALIZED (
    SELECT waiting.row
    FROM next
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM :schema.waiting AS waiting
        WHERE waiting.message_id = next.message_id AND waiting.handler_key = next.handler_key
        LIMIT 1
        FOR UPDATE
    ) AS waiting
    WHERE next.waits
),
woken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM waits)) RETURNING *
),
-- A claim that is looking at it right now sees whose turn it is.
seen AS MATERIALIZED (
    SELECT ready.row
    FROM next
    CROSS JOIN LATERAL (
        SELECT ready.ctid AS row
        FROM :schema.ready AS ready
        WHERE ready.message_id = next.message_id AND ready.handler_key = next.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS ready
    WHERE NOT next.waits
),
renumbered AS (
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT row FROM seen)) RETURNING *
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM woken
    UNION ALL
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM renumbered
),
passed AS (
    UPDATE :schema.lane AS lane
    SET message_id = next.message_id, head_key = next.handler_key,
        since = coalesce($1::timestamptz, clock_timestamp())
    FROM next
    WHERE lane.ctid = next.lane AND next.message_id IS NOT NULL
),
ended AS (
    DELETE FROM :schema.lane
    WHERE ctid = ANY (ARRAY(SELECT lane FROM next WHERE message_id IS NULL))
)
SELECT count(*) FROM next WHERE message_id IS NOT NULL
