-- ready → dead, for a key that no live host serves, not even by now.
--
-- Of a lane, its head alone, which keeps the lane: what comes after it waits for what is decided about it. Those
-- are put behind as by a claim (lease.sql). Otherwise than there, a lane that nobody is in is for the oldest of
-- its key even if that is not among those looked at: a later call will come to it.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM :schema.route AS route WHERE route.handler_key = $2 LIMIT 1
    ), $2) AS key
),
orphan AS MATERIALIZED (
    SELECT ready.ctid AS row, ready.seq, ready.message_id, ready.tenant, ready.ordering_key
    FROM :schema.ready AS ready
    WHERE ready.handler_key = $2 AND NOT EXISTS (
        SELECT 1
        FROM clock, :schema.host AS host
        WHERE host.seen_at + $3::interval > clock.now AND host.serves ? $2
    )
    ORDER BY ready.handler_key, ready.priority, ready.version, ready.seq
    LIMIT $4
    FOR UPDATE OF ready SKIP LOCKED
),
keyed AS MATERIALIZED (
    SELECT orphan.*, lane.message_id AS head,
           lane.message_id = orphan.message_id AND lane.head_key = $2 AS is_head
    FROM orphan
    LEFT JOIN LATERAL (
        SELECT lane.message_id, lane.head_key
        FROM :schema.lane AS lane
        WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = orphan.tenant
          AND lane.ordering_key = orphan.ordering_key
        LIMIT 1
    ) AS lane ON true
    WHERE orphan.ordering_key IS NOT NULL
),
won AS (
    INSERT INTO :schema.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (
        SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL
    ) AS open
    CROSS JOIN LATERAL (
        SELECT ready.message_id, ready.handler_key
        FROM (
            SELECT $2 AS key
            UNION SELECT route.handler_key FROM :schema.route AS route WHERE route.first_key = first.key
            UNION SELECT first.key
        ) AS alias
        CROSS JOIN LATERAL (
            SELECT ready.message_id, ready.handler_key, ready.seq
            FROM :schema.ready AS ready
            WHERE ready.handler_key COLLATE "C" = alias.key AND ready.tenant COLLATE "C" = open.tenant
              AND ready.ordering_key COLLATE "C" = open.ordering_key
            ORDER BY ready.seq
            LIMIT 1
        ) AS ready
        ORDER BY ready.seq
        LIMIT 1
    ) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT ready.seq
        FROM :schema.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE (
        SELECT behind.seq
        FROM :schema.waiting AS behind
        WHERE behind.reason = 'lane' AND behind.first_key = first.key AND behind.tenant = open.tenant
          AND behind.shared_key = open.ordering_key
        ORDER BY behind.seq
        LIMIT 1
    ) IS NULL
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT keyed.row, lane.message_id = keyed.message_id AND lane.head_key = $2 AS is_head
    FROM keyed
    CROSS JOIN LATERAL (
        SELECT lane.message_id, lane.head_key
        FROM :schema.lane AS lane
        WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = keyed.tenant
          AND lane.ordering_key = keyed.ordering_key
        LIMIT 1
        FOR SHARE SKIP LOCKED
    ) AS lane
    WHERE keyed.head IS NOT NULL AND NOT keyed.is_head
),
judged AS MATERIALIZED (
    SELECT row, true AS is_head FROM orphan WHERE ordering_key IS NULL
    UNION ALL
    SELECT row, is_head FROM keyed WHERE is_head
    UNION ALL
    SELECT row, is_head FROM behind
    UNION ALL
    SELECT keyed.row, won.message_id = keyed.message_id AND won.head_key = $2
    FROM keyed
    JOIN won USING (tenant, ordering_key)
    WHERE keyed.head IS NULL
),
moved AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM judged WHERE NOT is_head))
    RETURNING *
),
put_behind AS (
    INSERT INTO :schema.waiting (
        message_id, handler_key, version, priority, attempts, delayed_retries, suspect, due_at, reason,
        first_key, tenant, shared_key, seq
    )
    SELECT moved.message_id, moved.handler_key, moved.version, moved.priority, moved.attempts,
           moved.delayed_retries, moved.suspect, clock.now, 'lane', first.key, moved.tenant,
           moved.ordering_key, moved.seq
    FROM clock, first, moved
),
taken AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM judged WHERE is_head))
    RETURNING *
),
dead AS (
    INSERT INTO :schema.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at
    )
    SELECT taken.message_id, taken.handler_key, taken.version, taken.priority, taken.attempts, $5, $5,
           $6, clock.now
    FROM clock, taken
    ON CONFLICT DO NOTHING
)
SELECT message_id, attempts FROM taken
