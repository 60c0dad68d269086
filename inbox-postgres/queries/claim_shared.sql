-- ready → held, for what may have an ordering key or count for a limit. Of a lane, its head alone: whoever wins
-- the lane's row is that. What is not its turn goes to waiting, behind the lane, under a lock that whoever ends
-- the head takes too; so does what exceeds the limit of its key. What cannot be decided now, because its lane
-- is changing, is left. At most $limit are taken, of $window that are looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($now::timestamptz, clock_timestamp()) AS now
),
{{first}},
{{found}},
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $handler_key AS is_head
    FROM found
    LEFT JOIN LATERAL {{lane}} ON true
    WHERE found.ordering_key IS NOT NULL
),
{{lane_won}},
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, found.message_id,
           lane.message_id = found.message_id AND lane.head_key = $handler_key AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL {{lane_shared}}
    WHERE found.head IS NOT NULL AND NOT found.is_head
),
fit AS MATERIALIZED (
    SELECT found.*
    FROM found
    WHERE ordering_key IS NULL
       OR row IN (SELECT row FROM keyed WHERE is_head OR head IS NULL AND message_id IN (SELECT message_id FROM won WHERE is_mine))
       OR row IN (SELECT row FROM behind WHERE is_head)
    LIMIT $limit
),
{{limits}},
moved AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(
        SELECT row FROM behind WHERE NOT is_head
        UNION ALL
        SELECT keyed.row
        FROM keyed
        JOIN won USING (tenant, ordering_key)
        WHERE keyed.head IS NULL AND NOT (keyed.message_id = won.message_id AND won.is_mine)
        UNION ALL
        SELECT row FROM crowded
    ))
    RETURNING *
),
put_behind AS (
    INSERT INTO :schema.waiting (
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now,
           CASE WHEN message_id IN (SELECT message_id FROM crowded) THEN 'limit' ELSE 'lane' END,
           tenant, ordering_key, concurrency_key, first.key, seq, carry
    FROM clock, first, moved
),
taken AS (
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
{{hold}}
SELECT $lease::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*, 'taken' AS fate
FROM clock
CROSS JOIN taken
LEFT JOIN LATERAL {{message}} ON true
UNION ALL
SELECT $lease, NULL, seq, level, version, NULL, NULL, message_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, CASE
           WHEN message_id IN (SELECT message_id FROM moved) THEN 'moved'
           -- The fleet has no room for it, and need not be asked again until it has.
           WHEN row IN (SELECT row FROM fit) THEN 'full'
           ELSE 'left'
       END
FROM found
WHERE row NOT IN (SELECT row FROM granted)
UNION ALL
SELECT $lease, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL
