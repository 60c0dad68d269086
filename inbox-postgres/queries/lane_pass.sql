-- Hands on the lanes whose heads were these messages and are over: done, or dead where that lets others pass.
-- The next is the oldest that waits behind the lane or is ready, under whichever key of the handler; it has a
-- fresh number, so that workers find it. Where there is none, the lane ends. The lanes were locked before, and
-- by a statement of their own. Answers how many have a next one. What stands in a comment is the place of what
-- mends lanes whose heads are gone, in lanes.rs.
WITH over AS MATERIALIZED (
    SELECT lane.handler_key, lane.tenant, lane.ordering_key
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
          ), false) /*gone*/)
),
next AS MATERIALIZED (
    SELECT over.handler_key AS lane, over.tenant, over.ordering_key, head.message_id, head.handler_key,
           head.waits
    FROM over
    LEFT JOIN LATERAL (
        SELECT one.*
        FROM (
            (SELECT waiting.message_id, waiting.handler_key, waiting.seq, true AS waits
             FROM :schema.waiting AS waiting
             WHERE waiting.reason = 'lane' AND waiting.first_key = over.handler_key
               AND waiting.tenant = over.tenant AND waiting.shared_key = over.ordering_key
             ORDER BY waiting.seq
             LIMIT 1)
            UNION ALL
            SELECT ready.message_id, alias.key, ready.seq, false
            FROM (
                SELECT over.handler_key AS key
                UNION
                SELECT route.handler_key FROM :schema.route AS route WHERE route.first_key = over.handler_key
            ) AS alias
            CROSS JOIN LATERAL (
                SELECT ready.message_id, ready.seq
                FROM :schema.ready AS ready
                WHERE ready.handler_key COLLATE "C" = alias.key AND ready.tenant COLLATE "C" = over.tenant
                  AND ready.ordering_key COLLATE "C" = over.ordering_key
                ORDER BY ready.seq
                LIMIT 1
            ) AS ready
        ) AS one
        ORDER BY one.seq
        LIMIT 1
    ) AS head ON true
),
woken AS (
    DELETE FROM :schema.waiting AS waiting
    USING next
    WHERE next.waits AND waiting.message_id = next.message_id AND waiting.handler_key = next.handler_key
    RETURNING waiting.handler_key, waiting.priority, waiting.version, waiting.message_id, waiting.attempts,
              waiting.delayed_retries, waiting.suspect, next.tenant, next.ordering_key
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
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM seen))
    RETURNING handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
              ordering_key, concurrency_key
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
        ordering_key, concurrency_key
    )
    SELECT woken.*, message.concurrency_key
    FROM woken
    LEFT JOIN LATERAL (
        SELECT concurrency_key FROM :schema.message WHERE id = woken.message_id LIMIT 1
    ) AS message ON true
    UNION ALL
    SELECT * FROM renumbered
),
passed AS (
    UPDATE :schema.lane AS lane
    SET message_id = next.message_id, head_key = next.handler_key,
        since = coalesce($1::timestamptz, clock_timestamp())
    FROM next
    WHERE lane.handler_key = next.lane AND lane.tenant = next.tenant
      AND lane.ordering_key = next.ordering_key AND next.message_id IS NOT NULL
),
ended AS (
    DELETE FROM :schema.lane AS lane
    USING next
    WHERE lane.handler_key = next.lane AND lane.tenant = next.tenant
      AND lane.ordering_key = next.ordering_key AND next.message_id IS NULL
)
SELECT count(*) FROM next WHERE message_id IS NOT NULL
