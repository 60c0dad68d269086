-- ready → dead, for a key that no live host serves, not even by now.
--
-- Of a lane, its head alone, which keeps the lane: what comes after it waits for what is decided about it. Those
-- are put behind as by a claim (claim_shared.sql).
WITH clock AS MATERIALIZED (
    SELECT coalesce($now::timestamptz, clock_timestamp()) AS now
),
{{first}},
orphan AS MATERIALIZED (
    SELECT ready.ctid AS row, ready.seq, ready.message_id, ready.tenant, ready.ordering_key
    FROM :schema.ready AS ready
    WHERE ready.handler_key = $handler_key AND NOT EXISTS (
        SELECT 1
        FROM clock, :schema.host AS host
        WHERE host.seen_at + $alive_for::interval > clock.now AND host.serves ? $handler_key
    )
    ORDER BY ready.handler_key, ready.level, ready.version, ready.seq
    LIMIT $limit
    FOR UPDATE OF ready SKIP LOCKED
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $handler_key AS is_head
    FROM orphan AS found
    LEFT JOIN LATERAL {{lane}} ON true
    WHERE found.ordering_key IS NOT NULL
),
{{lane_won}},
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, lane.message_id = found.message_id AND lane.head_key = $handler_key AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL {{lane_shared}}
    WHERE found.head IS NOT NULL AND NOT found.is_head
),
judged AS MATERIALIZED (
    SELECT row, true AS is_head FROM orphan WHERE ordering_key IS NULL
    UNION ALL
    SELECT row, is_head FROM keyed WHERE is_head
    UNION ALL
    SELECT row, is_head FROM behind
    UNION ALL
    SELECT keyed.row, won.message_id = keyed.message_id AND won.is_mine
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
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now, 'lane', tenant,
           ordering_key, concurrency_key, first.key, seq, carry
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
    SELECT taken.message_id, taken.handler_key, taken.version, taken.priority, taken.attempts, $reason, $reason,
           $error, clock.now
    FROM clock, taken
    ON CONFLICT DO NOTHING
)
SELECT message_id, attempts FROM taken
