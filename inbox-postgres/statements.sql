-- statement: accept
-- nothing → message, with a delivery for each route: ready, or waiting until its start; or waiting
-- for a route. Answers when, and the ids of the messages that are new: a message that conflicts is
-- left out, to be looked up.
--
-- Messages are given in the order of keys and stored in that order, so that no two callers wait for
-- each other; of equal keys the first. An array may be empty where all of its values would be NULL.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
accepted AS (
    INSERT INTO inbox.message (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    )
    SELECT id, coalesce(tenant, ''), contract, version, payload, coalesce(headers, '{}'),
           idempotency_key, ordering_key, concurrency_key, correlation_id, causation_id, deliver_by,
           (SELECT now FROM clock)
    FROM unnest(
        $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::jsonb[], $7::jsonb[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[]
    ) AS given (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by
    )
    ON CONFLICT DO NOTHING
    RETURNING id, tenant, contract, version, ordering_key, concurrency_key, accepted_at
),
-- Once for each contract, and not for each message.
route AS MATERIALIZED (
    SELECT contract, handler_key FROM inbox.route
    WHERE contract = ANY ($4::text[]) AND superseded_by IS NULL
),
delivery AS MATERIALIZED (
    SELECT accepted.*, coalesce(route.handler_key, '') AS handler_key, given.priority, given.place,
           greatest(accepted_at, coalesce(given.start_at, accepted_at + given.start_after,
                                          accepted_at)) AS due_at
    FROM accepted
    JOIN unnest($2::uuid[], $14::smallint[], $15::timestamptz[], $16::interval[], $17::bigint[])
        AS given (id, priority, start_at, start_after, place) USING (id)
    -- What shares an ordering key with something that waits for a handler waits behind that.
    LEFT JOIN route ON route.contract = accepted.contract AND (accepted.ordering_key IS NULL OR (
        SELECT true
        FROM inbox.waiting AS before
        WHERE before.handler_key = '' AND before.contract = accepted.contract
          AND before.tenant = accepted.tenant AND before.ordering_key = accepted.ordering_key
        LIMIT 1
    ) IS NULL)
),
made_ready AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key
    )
    SELECT handler_key, priority, version, id, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key <> '' AND due_at <= accepted_at
    ORDER BY place, handler_key
),
made_waiting AS (
    INSERT INTO inbox.waiting (
        message_id, handler_key, contract, version, priority, due_at, reason, tenant, ordering_key,
        concurrency_key
    )
    SELECT id, handler_key, contract, version, priority, due_at,
           CASE WHEN handler_key = '' THEN 'no-route' ELSE 'delay' END, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key = '' OR due_at > accepted_at
    ORDER BY place
)
SELECT now, ARRAY(SELECT id FROM accepted) FROM clock;

-- statement: accept_keyless
-- nothing → message, with a delivery for each route: ready, or waiting until its start; or waiting
-- for a route. Answers when, and the ids of the messages that are new: a message that conflicts is
-- left out, to be looked up.
--
-- Messages are given in the order of keys and stored in that order, so that no two callers wait for
-- each other; of equal keys the first. An array may be empty where all of its values would be NULL.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
accepted AS (
    INSERT INTO inbox.message (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    )
    SELECT id, coalesce(tenant, ''), contract, version, payload, coalesce(headers, '{}'),
           idempotency_key, ordering_key, concurrency_key, correlation_id, causation_id, deliver_by,
           (SELECT now FROM clock)
    FROM unnest(
        $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::jsonb[], $7::jsonb[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[]
    ) AS given (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by
    )
    
    RETURNING id, tenant, contract, version, ordering_key, concurrency_key, accepted_at
),
-- Once for each contract, and not for each message.
route AS MATERIALIZED (
    SELECT contract, handler_key FROM inbox.route
    WHERE contract = ANY ($4::text[]) AND superseded_by IS NULL
),
delivery AS MATERIALIZED (
    SELECT accepted.*, coalesce(route.handler_key, '') AS handler_key, given.priority, given.place,
           greatest(accepted_at, coalesce(given.start_at, accepted_at + given.start_after,
                                          accepted_at)) AS due_at
    FROM accepted
    JOIN unnest($2::uuid[], $14::smallint[], $15::timestamptz[], $16::interval[], $17::bigint[])
        AS given (id, priority, start_at, start_after, place) USING (id)
    -- What shares an ordering key with something that waits for a handler waits behind that.
    LEFT JOIN route ON route.contract = accepted.contract AND (accepted.ordering_key IS NULL OR (
        SELECT true
        FROM inbox.waiting AS before
        WHERE before.handler_key = '' AND before.contract = accepted.contract
          AND before.tenant = accepted.tenant AND before.ordering_key = accepted.ordering_key
        LIMIT 1
    ) IS NULL)
),
made_ready AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key
    )
    SELECT handler_key, priority, version, id, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key <> '' AND due_at <= accepted_at
    ORDER BY place, handler_key
),
made_waiting AS (
    INSERT INTO inbox.waiting (
        message_id, handler_key, contract, version, priority, due_at, reason, tenant, ordering_key,
        concurrency_key
    )
    SELECT id, handler_key, contract, version, priority, due_at,
           CASE WHEN handler_key = '' THEN 'no-route' ELSE 'delay' END, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key = '' OR due_at > accepted_at
    ORDER BY place
)
SELECT now, ARRAY(SELECT id FROM accepted) FROM clock;

-- statement: claim
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_shared.sql. A row with a key that is met is left, and counted. Each row of the answer names the claim,
-- and there is one even if nothing was taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
taken AS (
    DELETE FROM inbox.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM found WHERE ordering_key IS NULL))
    RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*,
       (SELECT count(*) FROM found WHERE ordering_key IS NOT NULL) AS keyed
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_shared
-- ready → held, for what may have an ordering key or count for a limit. Of a lane, its head alone: whoever wins
-- the lane's row is that. What is not its turn goes to waiting, behind the lane, under a lock that whoever ends
-- the head takes too; so does what exceeds the limit of its key. What cannot be decided now, because its lane
-- is changing, is left. At most $14 are taken, of $9 that are looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM found
    LEFT JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
) AS lane ON true
    WHERE found.ordering_key IS NOT NULL
),
-- A lane that nobody is in is for the oldest of its key, also where that is not among those looked at, so that those
-- behind it stand in nobody's way. In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL) AS open
    CROSS JOIN LATERAL inbox.lane_next(first.key, open.tenant, open.ordering_key) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE NOT oldest.waits
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key = $4 AS is_mine
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, found.message_id,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
    FOR SHARE SKIP LOCKED
) AS lane
    WHERE found.head IS NOT NULL AND NOT found.is_head
),
fit AS MATERIALIZED (
    SELECT found.*
    FROM found
    WHERE ordering_key IS NULL
       OR row IN (SELECT row FROM keyed WHERE is_head OR head IS NULL AND message_id IN (SELECT message_id FROM won WHERE is_mine))
       OR row IN (SELECT row FROM behind WHERE is_head)
    LIMIT $14
),
granted AS NOT MATERIALIZED (
    SELECT row FROM fit
),
crowded AS MATERIALIZED (
    SELECT row, message_id FROM fit WHERE false
),
moved AS (
    DELETE FROM inbox.ready
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
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now,
           CASE WHEN message_id IN (SELECT message_id FROM crowded) THEN 'limit' ELSE 'lane' END,
           tenant, ordering_key, concurrency_key, first.key, seq, carry
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*, 'taken' AS fate
FROM clock
CROSS JOIN taken
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
UNION ALL
SELECT $2, NULL, seq, level, version, NULL, NULL, message_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, CASE
           WHEN message_id IN (SELECT message_id FROM moved) THEN 'moved'
           -- The fleet has no room for it, and need not be asked again until it has.
           WHEN row IN (SELECT row FROM fit) THEN 'full'
           ELSE 'left'
       END
FROM found
WHERE row NOT IN (SELECT row FROM granted)
UNION ALL
SELECT $2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL;

-- statement: claim_limited
-- ready → held, for what may have an ordering key or count for a limit. Of a lane, its head alone: whoever wins
-- the lane's row is that. What is not its turn goes to waiting, behind the lane, under a lock that whoever ends
-- the head takes too; so does what exceeds the limit of its key. What cannot be decided now, because its lane
-- is changing, is left. At most $14 are taken, of $9 that are looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM found
    LEFT JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
) AS lane ON true
    WHERE found.ordering_key IS NOT NULL
),
-- A lane that nobody is in is for the oldest of its key, also where that is not among those looked at, so that those
-- behind it stand in nobody's way. In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL) AS open
    CROSS JOIN LATERAL inbox.lane_next(first.key, open.tenant, open.ordering_key) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE NOT oldest.waits
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key = $4 AS is_mine
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, found.message_id,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
    FOR SHARE SKIP LOCKED
) AS lane
    WHERE found.head IS NOT NULL AND NOT found.is_head
),
fit AS MATERIALIZED (
    SELECT found.*
    FROM found
    WHERE ordering_key IS NULL
       OR row IN (SELECT row FROM keyed WHERE is_head OR head IS NULL AND message_id IN (SELECT message_id FROM won WHERE is_mine))
       OR row IN (SELECT row FROM behind WHERE is_head)
    LIMIT $14
),
-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
ranked AS MATERIALIZED (
    SELECT fit.*, row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY array_position($5, level), seq)
               AS nth_of_key, $16::integer - (
               SELECT count(*)
               FROM inbox.held AS held
               WHERE held.limited AND held.first_key = (SELECT key FROM first) AND held.tenant = fit.tenant
                 AND held.concurrency_key = fit.concurrency_key
           ) AS room
    FROM fit
),
by_key AS MATERIALIZED (
    SELECT row, row_number() OVER (ORDER BY array_position($5, level), seq) AS nth
    FROM ranked
    WHERE $16 IS NULL OR concurrency_key IS NULL OR nth_of_key <= room
),
granted AS MATERIALIZED (
    SELECT row
    FROM by_key
    WHERE $15::integer IS NULL OR nth <= $15 - (
        SELECT count(*) FROM inbox.held AS held WHERE held.limited AND held.first_key = (SELECT key FROM first)
    )
),
-- Only behind one that is held: whoever ends that wakes it.
crowded AS MATERIALIZED (
    SELECT row, message_id
    FROM ranked
    WHERE row NOT IN (SELECT row FROM by_key)
      AND (room < $16 OR (tenant, concurrency_key) IN (
          SELECT tenant, concurrency_key FROM ranked JOIN granted USING (row)
      ))
),
moved AS (
    DELETE FROM inbox.ready
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
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now,
           CASE WHEN message_id IN (SELECT message_id FROM crowded) THEN 'limit' ELSE 'lane' END,
           tenant, ordering_key, concurrency_key, first.key, seq, carry
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*, 'taken' AS fate
FROM clock
CROSS JOIN taken
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
UNION ALL
SELECT $2, NULL, seq, level, version, NULL, NULL, message_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, CASE
           WHEN message_id IN (SELECT message_id FROM moved) THEN 'moved'
           -- The fleet has no room for it, and need not be asked again until it has.
           WHEN row IN (SELECT row FROM fit) THEN 'full'
           ELSE 'left'
       END
FROM found
WHERE row NOT IN (SELECT row FROM granted)
UNION ALL
SELECT $2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL;

-- statement: claim_tenants
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_shared.sql. A row with a key that is met is left, and counted. Each row of the answer names the claim,
-- and there is one even if nothing was taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) CROSS JOIN unnest($14::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4 COLLATE "C" AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
taken AS (
    DELETE FROM inbox.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM found WHERE ordering_key IS NULL))
    RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*,
       (SELECT count(*) FROM found WHERE ordering_key IS NOT NULL) AS keyed
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_shared_tenants
-- ready → held, for what may have an ordering key or count for a limit. Of a lane, its head alone: whoever wins
-- the lane's row is that. What is not its turn goes to waiting, behind the lane, under a lock that whoever ends
-- the head takes too; so does what exceeds the limit of its key. What cannot be decided now, because its lane
-- is changing, is left. At most $14 are taken, of $9 that are looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) CROSS JOIN unnest($15::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4 COLLATE "C" AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM found
    LEFT JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
) AS lane ON true
    WHERE found.ordering_key IS NOT NULL
),
-- A lane that nobody is in is for the oldest of its key, also where that is not among those looked at, so that those
-- behind it stand in nobody's way. In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL) AS open
    CROSS JOIN LATERAL inbox.lane_next(first.key, open.tenant, open.ordering_key) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE NOT oldest.waits
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key = $4 AS is_mine
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, found.message_id,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
    FOR SHARE SKIP LOCKED
) AS lane
    WHERE found.head IS NOT NULL AND NOT found.is_head
),
fit AS MATERIALIZED (
    SELECT found.*
    FROM found
    WHERE ordering_key IS NULL
       OR row IN (SELECT row FROM keyed WHERE is_head OR head IS NULL AND message_id IN (SELECT message_id FROM won WHERE is_mine))
       OR row IN (SELECT row FROM behind WHERE is_head)
    LIMIT $14
),
granted AS NOT MATERIALIZED (
    SELECT row FROM fit
),
crowded AS MATERIALIZED (
    SELECT row, message_id FROM fit WHERE false
),
moved AS (
    DELETE FROM inbox.ready
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
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now,
           CASE WHEN message_id IN (SELECT message_id FROM crowded) THEN 'limit' ELSE 'lane' END,
           tenant, ordering_key, concurrency_key, first.key, seq, carry
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*, 'taken' AS fate
FROM clock
CROSS JOIN taken
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
UNION ALL
SELECT $2, NULL, seq, level, version, NULL, NULL, message_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, CASE
           WHEN message_id IN (SELECT message_id FROM moved) THEN 'moved'
           -- The fleet has no room for it, and need not be asked again until it has.
           WHEN row IN (SELECT row FROM fit) THEN 'full'
           ELSE 'left'
       END
FROM found
WHERE row NOT IN (SELECT row FROM granted)
UNION ALL
SELECT $2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL;

-- statement: claim_limited_tenants
-- ready → held, for what may have an ordering key or count for a limit. Of a lane, its head alone: whoever wins
-- the lane's row is that. What is not its turn goes to waiting, behind the lane, under a lock that whoever ends
-- the head takes too; so does what exceeds the limit of its key. What cannot be decided now, because its lane
-- is changing, is left. At most $14 are taken, of $9 that are looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) CROSS JOIN unnest($17::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4 COLLATE "C" AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM found
    LEFT JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
) AS lane ON true
    WHERE found.ordering_key IS NOT NULL
),
-- A lane that nobody is in is for the oldest of its key, also where that is not among those looked at, so that those
-- behind it stand in nobody's way. In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL) AS open
    CROSS JOIN LATERAL inbox.lane_next(first.key, open.tenant, open.ordering_key) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE NOT oldest.waits
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key = $4 AS is_mine
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, found.message_id,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
    FOR SHARE SKIP LOCKED
) AS lane
    WHERE found.head IS NOT NULL AND NOT found.is_head
),
fit AS MATERIALIZED (
    SELECT found.*
    FROM found
    WHERE ordering_key IS NULL
       OR row IN (SELECT row FROM keyed WHERE is_head OR head IS NULL AND message_id IN (SELECT message_id FROM won WHERE is_mine))
       OR row IN (SELECT row FROM behind WHERE is_head)
    LIMIT $14
),
-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
ranked AS MATERIALIZED (
    SELECT fit.*, row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY array_position($5, level), seq)
               AS nth_of_key, $16::integer - (
               SELECT count(*)
               FROM inbox.held AS held
               WHERE held.limited AND held.first_key = (SELECT key FROM first) AND held.tenant = fit.tenant
                 AND held.concurrency_key = fit.concurrency_key
           ) AS room
    FROM fit
),
by_key AS MATERIALIZED (
    SELECT row, row_number() OVER (ORDER BY array_position($5, level), seq) AS nth
    FROM ranked
    WHERE $16 IS NULL OR concurrency_key IS NULL OR nth_of_key <= room
),
granted AS MATERIALIZED (
    SELECT row
    FROM by_key
    WHERE $15::integer IS NULL OR nth <= $15 - (
        SELECT count(*) FROM inbox.held AS held WHERE held.limited AND held.first_key = (SELECT key FROM first)
    )
),
-- Only behind one that is held: whoever ends that wakes it.
crowded AS MATERIALIZED (
    SELECT row, message_id
    FROM ranked
    WHERE row NOT IN (SELECT row FROM by_key)
      AND (room < $16 OR (tenant, concurrency_key) IN (
          SELECT tenant, concurrency_key FROM ranked JOIN granted USING (row)
      ))
),
moved AS (
    DELETE FROM inbox.ready
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
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now,
           CASE WHEN message_id IN (SELECT message_id FROM crowded) THEN 'limit' ELSE 'lane' END,
           tenant, ordering_key, concurrency_key, first.key, seq, carry
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*, 'taken' AS fate
FROM clock
CROSS JOIN taken
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
UNION ALL
SELECT $2, NULL, seq, level, version, NULL, NULL, message_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, CASE
           WHEN message_id IN (SELECT message_id FROM moved) THEN 'moved'
           -- The fleet has no room for it, and need not be asked again until it has.
           WHEN row IN (SELECT row FROM fit) THEN 'full'
           ELSE 'left'
       END
FROM found
WHERE row NOT IN (SELECT row FROM granted)
UNION ALL
SELECT $2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL;

-- statement: claim_tenants_and_none
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_shared.sql. A row with a key that is met is left, and counted. Each row of the answer names the claim,
-- and there is one even if nothing was taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($14)
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
taken AS (
    DELETE FROM inbox.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM found WHERE ordering_key IS NULL))
    RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*,
       (SELECT count(*) FROM found WHERE ordering_key IS NOT NULL) AS keyed
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_shared_tenants_and_none
-- ready → held, for what may have an ordering key or count for a limit. Of a lane, its head alone: whoever wins
-- the lane's row is that. What is not its turn goes to waiting, behind the lane, under a lock that whoever ends
-- the head takes too; so does what exceeds the limit of its key. What cannot be decided now, because its lane
-- is changing, is left. At most $14 are taken, of $9 that are looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($15)
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM found
    LEFT JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
) AS lane ON true
    WHERE found.ordering_key IS NOT NULL
),
-- A lane that nobody is in is for the oldest of its key, also where that is not among those looked at, so that those
-- behind it stand in nobody's way. In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL) AS open
    CROSS JOIN LATERAL inbox.lane_next(first.key, open.tenant, open.ordering_key) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE NOT oldest.waits
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key = $4 AS is_mine
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, found.message_id,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
    FOR SHARE SKIP LOCKED
) AS lane
    WHERE found.head IS NOT NULL AND NOT found.is_head
),
fit AS MATERIALIZED (
    SELECT found.*
    FROM found
    WHERE ordering_key IS NULL
       OR row IN (SELECT row FROM keyed WHERE is_head OR head IS NULL AND message_id IN (SELECT message_id FROM won WHERE is_mine))
       OR row IN (SELECT row FROM behind WHERE is_head)
    LIMIT $14
),
granted AS NOT MATERIALIZED (
    SELECT row FROM fit
),
crowded AS MATERIALIZED (
    SELECT row, message_id FROM fit WHERE false
),
moved AS (
    DELETE FROM inbox.ready
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
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now,
           CASE WHEN message_id IN (SELECT message_id FROM crowded) THEN 'limit' ELSE 'lane' END,
           tenant, ordering_key, concurrency_key, first.key, seq, carry
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*, 'taken' AS fate
FROM clock
CROSS JOIN taken
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
UNION ALL
SELECT $2, NULL, seq, level, version, NULL, NULL, message_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, CASE
           WHEN message_id IN (SELECT message_id FROM moved) THEN 'moved'
           -- The fleet has no room for it, and need not be asked again until it has.
           WHEN row IN (SELECT row FROM fit) THEN 'full'
           ELSE 'left'
       END
FROM found
WHERE row NOT IN (SELECT row FROM granted)
UNION ALL
SELECT $2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL;

-- statement: claim_limited_tenants_and_none
-- ready → held, for what may have an ordering key or count for a limit. Of a lane, its head alone: whoever wins
-- the lane's row is that. What is not its turn goes to waiting, behind the lane, under a lock that whoever ends
-- the head takes too; so does what exceeds the limit of its key. What cannot be decided now, because its lane
-- is changing, is left. At most $14 are taken, of $9 that are looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $4
        LIMIT 1
    ), $4) AS key
),
-- Level by level, each in the order of numbers over all versions, and from the mark where earlier claims of that
-- level and version found work. The last LIMIT stops the others: levels that come after enough was found are
-- not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($17)
            ORDER BY seq
            LIMIT $9
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9
    ) AS one
    LIMIT $9
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM found
    LEFT JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
) AS lane ON true
    WHERE found.ordering_key IS NOT NULL
),
-- A lane that nobody is in is for the oldest of its key, also where that is not among those looked at, so that those
-- behind it stand in nobody's way. In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL) AS open
    CROSS JOIN LATERAL inbox.lane_next(first.key, open.tenant, open.ordering_key) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE NOT oldest.waits
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key = $4 AS is_mine
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, found.message_id,
           lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
    FOR SHARE SKIP LOCKED
) AS lane
    WHERE found.head IS NOT NULL AND NOT found.is_head
),
fit AS MATERIALIZED (
    SELECT found.*
    FROM found
    WHERE ordering_key IS NULL
       OR row IN (SELECT row FROM keyed WHERE is_head OR head IS NULL AND message_id IN (SELECT message_id FROM won WHERE is_mine))
       OR row IN (SELECT row FROM behind WHERE is_head)
    LIMIT $14
),
-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
ranked AS MATERIALIZED (
    SELECT fit.*, row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY array_position($5, level), seq)
               AS nth_of_key, $16::integer - (
               SELECT count(*)
               FROM inbox.held AS held
               WHERE held.limited AND held.first_key = (SELECT key FROM first) AND held.tenant = fit.tenant
                 AND held.concurrency_key = fit.concurrency_key
           ) AS room
    FROM fit
),
by_key AS MATERIALIZED (
    SELECT row, row_number() OVER (ORDER BY array_position($5, level), seq) AS nth
    FROM ranked
    WHERE $16 IS NULL OR concurrency_key IS NULL OR nth_of_key <= room
),
granted AS MATERIALIZED (
    SELECT row
    FROM by_key
    WHERE $15::integer IS NULL OR nth <= $15 - (
        SELECT count(*) FROM inbox.held AS held WHERE held.limited AND held.first_key = (SELECT key FROM first)
    )
),
-- Only behind one that is held: whoever ends that wakes it.
crowded AS MATERIALIZED (
    SELECT row, message_id
    FROM ranked
    WHERE row NOT IN (SELECT row FROM by_key)
      AND (room < $16 OR (tenant, concurrency_key) IN (
          SELECT tenant, concurrency_key FROM ranked JOIN granted USING (row)
      ))
),
moved AS (
    DELETE FROM inbox.ready
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
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now,
           CASE WHEN message_id IN (SELECT message_id FROM crowded) THEN 'limit' ELSE 'lane' END,
           tenant, ordering_key, concurrency_key, first.key, seq, carry
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(level) >= 4, $10::integer,
           min(clock.now) + $11::interval
    FROM clock, taken
    HAVING count(*) > 0
),
held AS (
    INSERT INTO inbox.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, carry
    )
    SELECT $2, message_id, clock.now, version, attempts + 1, crashes, priority, $12::boolean,
           $13::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, carry
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version,
       taken.attempts + 1 AS attempt,
       taken.carry::text, taken.message_id, message.*, 'taken' AS fate
FROM clock
CROSS JOIN taken
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
UNION ALL
SELECT $2, NULL, seq, level, version, NULL, NULL, message_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, CASE
           WHEN message_id IN (SELECT message_id FROM moved) THEN 'moved'
           -- The fleet has no room for it, and need not be asked again until it has.
           WHEN row IN (SELECT row FROM fit) THEN 'full'
           ELSE 'left'
       END
FROM found
WHERE row NOT IN (SELECT row FROM granted)
UNION ALL
SELECT $2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL;

-- statement: settle_done
-- held → done, for a call in which all are: what happens most, with fewer steps than settle.sql needs for any
-- mixture. To delete the row is the settlement; the answer names what was found.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
mine AS MATERIALIZED (
    SELECT asked.nth, asked.word, held.*
    FROM unnest($2::uuid[], $3::uuid[], $4::text[])
        WITH ORDINALITY AS asked (lease_id, message_id, word, nth)
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.lease_id, held.message_id, handler_key, attempt, leased_at, cancel
        FROM inbox.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
        FOR UPDATE
    ) AS held
),
-- A lease goes when nothing is held under it any more. Two that end parts of one at the same moment both leave it:
-- then it expires, empty. Nobody waits for it.
over AS MATERIALIZED (
    SELECT lease.row
    FROM (SELECT DISTINCT lease_id FROM mine) AS touched
    CROSS JOIN LATERAL (
        SELECT lease.ctid AS row
        FROM inbox.lease AS lease
        WHERE lease.id = touched.lease_id AND (
            SELECT true
            FROM inbox.held AS held
            WHERE held.lease_id = touched.lease_id
              AND (held.lease_id, held.message_id) NOT IN (SELECT lease_id, message_id FROM mine)
            LIMIT 1
        ) IS NULL
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lease
),
ended AS (
    DELETE FROM inbox.lease WHERE ctid = ANY (ARRAY(SELECT row FROM over))
),
let_go AS (
    DELETE FROM inbox.held WHERE ctid = ANY (ARRAY(
        SELECT row FROM mine
        UNION ALL
        -- One that was cancelled while this waited for it is where this statement cannot see it yet. It is
        -- found from where it was.
        SELECT was.row
        FROM mine
        CROSS JOIN LATERAL (
            SELECT ctid AS row
            FROM inbox.held AS held
            WHERE held.lease_id = mine.lease_id AND held.message_id = mine.message_id
            LIMIT 1
        ) AS was
        WHERE mine.cancel
    ))
),
done AS (
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempt, greatest(clock.now - leased_at, interval '0'), clock.now
    FROM clock, mine
)
SELECT nth, false FROM mine;

-- statement: settle
-- held → done, waiting, dead or ready. To delete the row is the settlement; the answer names what was found, and
-- what of it was cancelled instead.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
mine AS MATERIALIZED (
    SELECT asked.nth, asked.turn, asked.after, asked.error_type, asked.error, asked.carry AS carried, asked.place AS wished,
           held.*, one.cancelled,
           CASE WHEN one.cancelled THEN 'done' ELSE asked.place END AS place,
           CASE WHEN one.cancelled THEN 'cancelled' ELSE asked.word END AS word,
           -- What was not tried after all gives its attempt back.
           held.attempt - (asked.place = 'ready')::integer AS attempts
    FROM unnest(
        $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::interval[], $7::text[], $8::text[], $9::jsonb[],
        $10::bigint[]
    ) WITH ORDINALITY AS asked (
        lease_id, message_id, place, word, after, error_type, error, carry, turn, nth
    )
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.*
        FROM inbox.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
        FOR UPDATE
    ) AS held
    -- Whoever cancelled it wants no other attempt, and no dead letter.
    CROSS JOIN LATERAL (SELECT asked.place <> 'done' AND held.cancel AS cancelled) AS one
),
-- A lease goes when nothing is held under it any more. Two that end parts of one at the same moment both leave it:
-- then it expires, empty. Nobody waits for it.
over AS MATERIALIZED (
    SELECT lease.row
    FROM (SELECT DISTINCT lease_id FROM mine) AS touched
    CROSS JOIN LATERAL (
        SELECT lease.ctid AS row
        FROM inbox.lease AS lease
        WHERE lease.id = touched.lease_id AND (
            SELECT true
            FROM inbox.held AS held
            WHERE held.lease_id = touched.lease_id
              AND (held.lease_id, held.message_id) NOT IN (SELECT lease_id, message_id FROM mine)
            LIMIT 1
        ) IS NULL
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lease
),
ended AS (
    DELETE FROM inbox.lease WHERE ctid = ANY (ARRAY(SELECT row FROM over))
),
let_go AS (
    DELETE FROM inbox.held WHERE ctid = ANY (ARRAY(
        SELECT row FROM mine
        UNION ALL
        -- One that was cancelled while this waited for it is where this statement cannot see it yet. It is
        -- found from where it was.
        SELECT was.row
        FROM mine
        CROSS JOIN LATERAL (
            SELECT ctid AS row
            FROM inbox.held AS held
            WHERE held.lease_id = mine.lease_id AND held.message_id = mine.message_id
            LIMIT 1
        ) AS was
        WHERE mine.cancel
    ))
),
done AS (
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempts, greatest(clock.now - leased_at, interval '0'), clock.now
    FROM clock, mine
    WHERE place = 'done'
),
waiting AS (
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, due_at, reason, error, tenant, ordering_key,
        concurrency_key, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, clock.now + after, 'retry', error, tenant,
           ordering_key, concurrency_key, carried
    FROM clock, mine
    WHERE place = 'waiting'
    ON CONFLICT DO NOTHING
),
dead AS (
    INSERT INTO inbox.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks
    )
    SELECT message_id, handler_key, version, priority, attempts, word, error_type, error, clock.now, blocks
    FROM clock, mine
    WHERE place = 'dead'
    ON CONFLICT DO NOTHING
),
returned AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM mine
    WHERE place = 'ready'
    ORDER BY turn
    ON CONFLICT DO NOTHING
),
attempt AS (
    INSERT INTO inbox.attempt (
        message_id, handler_key, attempt, host, leased_at, settled_at, error_type, error
    )
    SELECT message_id, handler_key, attempt, (
               SELECT host FROM inbox.lease WHERE id = mine.lease_id LIMIT 1
           ), leased_at, clock.now, error_type, error
    FROM clock, mine
    WHERE wished IN ('waiting', 'dead')
    ORDER BY nth
)
SELECT nth, cancelled FROM mine;

-- statement: settle_done_within
-- held → done, for a call in which all are: what happens most, with fewer steps than settle.sql needs for any
-- mixture. To delete the row is the settlement; the answer names what was found.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
mine AS MATERIALIZED (
    SELECT asked.nth, asked.word, held.*
    FROM unnest($2::uuid[], $3::uuid[], $4::text[])
        WITH ORDINALITY AS asked (lease_id, message_id, word, nth)
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.lease_id, held.message_id, handler_key, attempt, leased_at, cancel
        FROM inbox.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
        FOR UPDATE
    ) AS held
),
-- A lease goes when nothing is held under it any more. Two that end parts of one at the same moment both leave it:
-- then it expires, empty. Nobody waits for it.
over AS MATERIALIZED (
    SELECT lease.row
    FROM (SELECT DISTINCT lease_id FROM mine) AS touched
    CROSS JOIN LATERAL (
        SELECT lease.ctid AS row
        FROM inbox.lease AS lease
        WHERE lease.id = touched.lease_id AND (
            SELECT true
            FROM inbox.held AS held
            WHERE held.lease_id = touched.lease_id
              AND (held.lease_id, held.message_id) NOT IN (SELECT lease_id, message_id FROM mine)
            LIMIT 1
        ) IS NULL
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lease
),
ended AS (
    DELETE FROM inbox.lease WHERE ctid = ANY (ARRAY(SELECT row FROM over))
),
let_go AS (
    DELETE FROM inbox.held WHERE ctid = ANY (ARRAY(
        SELECT row FROM mine
        UNION ALL
        -- One that was cancelled while this waited for it is where this statement cannot see it yet. It is
        -- found from where it was.
        SELECT was.row
        FROM mine
        CROSS JOIN LATERAL (
            SELECT ctid AS row
            FROM inbox.held AS held
            WHERE held.lease_id = mine.lease_id AND held.message_id = mine.message_id
            LIMIT 1
        ) AS was
        WHERE mine.cancel
    ))
),
done AS (
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempt, greatest(clock.now - leased_at, interval '0'), clock.now
    FROM clock, mine
)
SELECT nth, false FROM mine
UNION ALL
SELECT NULL, inbox.must_settle((SELECT count(*) FROM mine), $5, $6) IS NULL;

-- statement: settle_within
-- held → done, waiting, dead or ready. To delete the row is the settlement; the answer names what was found, and
-- what of it was cancelled instead.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
mine AS MATERIALIZED (
    SELECT asked.nth, asked.turn, asked.after, asked.error_type, asked.error, asked.carry AS carried, asked.place AS wished,
           held.*, one.cancelled,
           CASE WHEN one.cancelled THEN 'done' ELSE asked.place END AS place,
           CASE WHEN one.cancelled THEN 'cancelled' ELSE asked.word END AS word,
           -- What was not tried after all gives its attempt back.
           held.attempt - (asked.place = 'ready')::integer AS attempts
    FROM unnest(
        $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::interval[], $7::text[], $8::text[], $9::jsonb[],
        $10::bigint[]
    ) WITH ORDINALITY AS asked (
        lease_id, message_id, place, word, after, error_type, error, carry, turn, nth
    )
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.*
        FROM inbox.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
        FOR UPDATE
    ) AS held
    -- Whoever cancelled it wants no other attempt, and no dead letter.
    CROSS JOIN LATERAL (SELECT asked.place <> 'done' AND held.cancel AS cancelled) AS one
),
-- A lease goes when nothing is held under it any more. Two that end parts of one at the same moment both leave it:
-- then it expires, empty. Nobody waits for it.
over AS MATERIALIZED (
    SELECT lease.row
    FROM (SELECT DISTINCT lease_id FROM mine) AS touched
    CROSS JOIN LATERAL (
        SELECT lease.ctid AS row
        FROM inbox.lease AS lease
        WHERE lease.id = touched.lease_id AND (
            SELECT true
            FROM inbox.held AS held
            WHERE held.lease_id = touched.lease_id
              AND (held.lease_id, held.message_id) NOT IN (SELECT lease_id, message_id FROM mine)
            LIMIT 1
        ) IS NULL
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lease
),
ended AS (
    DELETE FROM inbox.lease WHERE ctid = ANY (ARRAY(SELECT row FROM over))
),
let_go AS (
    DELETE FROM inbox.held WHERE ctid = ANY (ARRAY(
        SELECT row FROM mine
        UNION ALL
        -- One that was cancelled while this waited for it is where this statement cannot see it yet. It is
        -- found from where it was.
        SELECT was.row
        FROM mine
        CROSS JOIN LATERAL (
            SELECT ctid AS row
            FROM inbox.held AS held
            WHERE held.lease_id = mine.lease_id AND held.message_id = mine.message_id
            LIMIT 1
        ) AS was
        WHERE mine.cancel
    ))
),
done AS (
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempts, greatest(clock.now - leased_at, interval '0'), clock.now
    FROM clock, mine
    WHERE place = 'done'
),
waiting AS (
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, due_at, reason, error, tenant, ordering_key,
        concurrency_key, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, clock.now + after, 'retry', error, tenant,
           ordering_key, concurrency_key, carried
    FROM clock, mine
    WHERE place = 'waiting'
    ON CONFLICT DO NOTHING
),
dead AS (
    INSERT INTO inbox.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks
    )
    SELECT message_id, handler_key, version, priority, attempts, word, error_type, error, clock.now, blocks
    FROM clock, mine
    WHERE place = 'dead'
    ON CONFLICT DO NOTHING
),
returned AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM mine
    WHERE place = 'ready'
    ORDER BY turn
    ON CONFLICT DO NOTHING
),
attempt AS (
    INSERT INTO inbox.attempt (
        message_id, handler_key, attempt, host, leased_at, settled_at, error_type, error
    )
    SELECT message_id, handler_key, attempt, (
               SELECT host FROM inbox.lease WHERE id = mine.lease_id LIMIT 1
           ), leased_at, clock.now, error_type, error
    FROM clock, mine
    WHERE wished IN ('waiting', 'dead')
    ORDER BY nth
)
SELECT nth, cancelled FROM mine
UNION ALL
SELECT NULL, inbox.must_settle((SELECT count(*) FROM mine), $11, $12) IS NULL;

-- statement: lane_pass
-- Hands on the lanes whose heads were these messages and are over: done, or dead where that lets others pass.
-- The next has a fresh number, so that workers find it. Where there is none, the lane ends. The lanes were
-- locked before, and by a statement of their own. Answers how many have a next one.
WITH over AS MATERIALIZED (
    SELECT lane.ctid AS row, lane.handler_key, lane.tenant, lane.ordering_key
    FROM inbox.lane AS lane
    WHERE lane.message_id = ANY ($2::uuid[])
      -- One look at each: what asks whether it exists may be answered by reading all that is done.
      AND (coalesce((
              SELECT true FROM inbox.done AS done
              WHERE done.message_id = lane.message_id AND done.handler_key = lane.head_key
              LIMIT 1
          ), (
              SELECT true FROM inbox.dead AS dead
              WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
                AND NOT dead.blocks
              LIMIT 1
          ), false) )
),
next AS MATERIALIZED (
    SELECT over.row AS lane, next.*
    FROM over
    LEFT JOIN LATERAL inbox.lane_next(over.handler_key, over.tenant, over.ordering_key) AS next ON true
),
waits AS MATERIALIZED (
    SELECT waiting.row
    FROM next
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.message_id = next.message_id AND waiting.handler_key = next.handler_key
        LIMIT 1
        FOR UPDATE
    ) AS waiting
    WHERE next.waits
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM waits)) RETURNING *
),
-- A claim that is looking at it right now sees whose turn it is.
seen AS MATERIALIZED (
    SELECT ready.row
    FROM next
    CROSS JOIN LATERAL (
        SELECT ready.ctid AS row
        FROM inbox.ready AS ready
        WHERE ready.message_id = next.message_id AND ready.handler_key = next.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS ready
    WHERE NOT next.waits
),
renumbered AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM seen)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (
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
    UPDATE inbox.lane AS lane
    SET message_id = next.message_id, head_key = next.handler_key,
        since = coalesce($1::timestamptz, clock_timestamp())
    FROM next
    WHERE lane.ctid = next.lane AND next.message_id IS NOT NULL
),
ended AS (
    DELETE FROM inbox.lane
    WHERE ctid = ANY (ARRAY(SELECT lane FROM next WHERE message_id IS NULL))
)
SELECT count(*) FROM next WHERE message_id IS NOT NULL;

-- statement: lane_repair
-- Hands on the lanes whose heads were these messages and are over: done, or dead where that lets others pass.
-- The next has a fresh number, so that workers find it. Where there is none, the lane ends. The lanes were
-- locked before, and by a statement of their own. Answers how many have a next one.
WITH over AS MATERIALIZED (
    SELECT lane.ctid AS row, lane.handler_key, lane.tenant, lane.ordering_key
    FROM inbox.lane AS lane
    WHERE lane.message_id = ANY ($2::uuid[])
      -- One look at each: what asks whether it exists may be answered by reading all that is done.
      AND (coalesce((
              SELECT true FROM inbox.done AS done
              WHERE done.message_id = lane.message_id AND done.handler_key = lane.head_key
              LIMIT 1
          ), (
              SELECT true FROM inbox.dead AS dead
              WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
                AND NOT dead.blocks
              LIMIT 1
          ), false) OR coalesce((
              SELECT true FROM inbox.ready AS ready
              WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
              LIMIT 1
          ), (
              SELECT true FROM inbox.waiting AS waiting
              WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
                AND waiting.reason <> 'lane'
              LIMIT 1
          ), (
              SELECT true FROM inbox.dead AS dead
              WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
              LIMIT 1
          ),
          -- By its message alone, what is held is found by reading all of it: once for all lanes.
          CASE WHEN (lane.message_id, lane.head_key) IN (
              SELECT held.message_id, held.handler_key FROM inbox.held AS held
          ) THEN true END) IS NULL)
),
next AS MATERIALIZED (
    SELECT over.row AS lane, next.*
    FROM over
    LEFT JOIN LATERAL inbox.lane_next(over.handler_key, over.tenant, over.ordering_key) AS next ON true
),
waits AS MATERIALIZED (
    SELECT waiting.row
    FROM next
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.message_id = next.message_id AND waiting.handler_key = next.handler_key
        LIMIT 1
        FOR UPDATE
    ) AS waiting
    WHERE next.waits
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM waits)) RETURNING *
),
-- A claim that is looking at it right now sees whose turn it is.
seen AS MATERIALIZED (
    SELECT ready.row
    FROM next
    CROSS JOIN LATERAL (
        SELECT ready.ctid AS row
        FROM inbox.ready AS ready
        WHERE ready.message_id = next.message_id AND ready.handler_key = next.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS ready
    WHERE NOT next.waits
),
renumbered AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM seen)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (
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
    UPDATE inbox.lane AS lane
    SET message_id = next.message_id, head_key = next.handler_key,
        since = coalesce($1::timestamptz, clock_timestamp())
    FROM next
    WHERE lane.ctid = next.lane AND next.message_id IS NOT NULL
),
ended AS (
    DELETE FROM inbox.lane
    WHERE ctid = ANY (ARRAY(SELECT lane FROM next WHERE message_id IS NULL))
)
SELECT count(*) FROM next WHERE message_id IS NOT NULL;

-- statement: limit_share_held
-- Keeps claims of handlers with limits from being made until what follows is committed: who is put behind a key
-- meanwhile is seen by the statement that wakes them.
SELECT 1
FROM inbox.route AS guard
WHERE guard.handler_key = ANY (ARRAY(SELECT DISTINCT freed.first_key FROM (
    SELECT held.first_key, held.tenant, held.concurrency_key
    FROM unnest($1::uuid[], $2::uuid[]) AS asked (lease_id, message_id)
    CROSS JOIN LATERAL (
        SELECT held.first_key, held.tenant, held.concurrency_key, held.limited
        FROM inbox.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
    ) AS held
    WHERE held.limited OR held.concurrency_key IS NOT NULL
) AS freed))
ORDER BY guard.contract, guard.handler_key
FOR SHARE;

-- statement: limit_share_keys
-- Keeps claims of handlers with limits from being made until what follows is committed: who is put behind a key
-- meanwhile is seen by the statement that wakes them.
SELECT 1
FROM inbox.route AS guard
WHERE guard.handler_key = ANY (ARRAY(SELECT DISTINCT freed.first_key FROM (
    SELECT * FROM unnest($1::text[]) AS given (first_key)
) AS freed))
ORDER BY guard.contract, guard.handler_key
FOR SHARE;

-- statement: limit_wake_held
-- waiting → ready, for as many of each concurrency key as others of it end. Answers how many ended, of whatever
-- key: the fleet has room for them.
WITH freed AS MATERIALIZED (
    SELECT freed.first_key, freed.tenant, freed.concurrency_key, count(*) AS units
    FROM (
    SELECT held.first_key, held.tenant, held.concurrency_key
    FROM unnest($1::uuid[], $2::uuid[]) AS asked (lease_id, message_id)
    CROSS JOIN LATERAL (
        SELECT held.first_key, held.tenant, held.concurrency_key, held.limited
        FROM inbox.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
    ) AS held
    WHERE held.limited OR held.concurrency_key IS NOT NULL
) AS freed
    GROUP BY freed.first_key, freed.tenant, freed.concurrency_key
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM freed
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.reason = 'limit' AND waiting.first_key = freed.first_key
          AND waiting.tenant = freed.tenant AND waiting.concurrency_key = freed.concurrency_key
        ORDER BY waiting.seq
        LIMIT freed.units
        FOR UPDATE SKIP LOCKED
    ) AS waiting
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM woken
    ORDER BY seq
)
SELECT coalesce(sum(units), 0)::bigint FROM freed;

-- statement: limit_wake_keys
-- waiting → ready, for as many of each concurrency key as others of it end. Answers how many ended, of whatever
-- key: the fleet has room for them.
WITH freed AS MATERIALIZED (
    SELECT freed.first_key, freed.tenant, freed.concurrency_key, count(*) AS units
    FROM (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS given (first_key, tenant, concurrency_key)
) AS freed
    GROUP BY freed.first_key, freed.tenant, freed.concurrency_key
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM freed
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.reason = 'limit' AND waiting.first_key = freed.first_key
          AND waiting.tenant = freed.tenant AND waiting.concurrency_key = freed.concurrency_key
        ORDER BY waiting.seq
        LIMIT freed.units
        FOR UPDATE SKIP LOCKED
    ) AS waiting
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM woken
    ORDER BY seq
)
SELECT coalesce(sum(units), 0)::bigint FROM freed;

-- statement: limit_share_message
-- Keeps claims of handlers with limits from being made until what follows is committed: who is put behind a key
-- meanwhile is seen by the statement that wakes them.
SELECT 1
FROM inbox.route AS guard
WHERE guard.handler_key = ANY (ARRAY(SELECT DISTINCT freed.first_key FROM (
    SELECT DISTINCT coalesce(nullif(route.first_key, ''), route.handler_key) AS first_key, message.tenant,
           message.concurrency_key
    FROM inbox.message AS message
    JOIN inbox.route AS route ON route.contract = message.contract
    WHERE message.id = ANY ($1::uuid[]) AND message.concurrency_key IS NOT NULL
) AS freed))
ORDER BY guard.contract, guard.handler_key
FOR SHARE;

-- statement: limit_wake_message
-- waiting → ready, for as many of each concurrency key as others of it end. Answers how many ended, of whatever
-- key: the fleet has room for them.
WITH freed AS MATERIALIZED (
    SELECT freed.first_key, freed.tenant, freed.concurrency_key, count(*) AS units
    FROM (
    SELECT DISTINCT coalesce(nullif(route.first_key, ''), route.handler_key) AS first_key, message.tenant,
           message.concurrency_key
    FROM inbox.message AS message
    JOIN inbox.route AS route ON route.contract = message.contract
    WHERE message.id = ANY ($1::uuid[]) AND message.concurrency_key IS NOT NULL
) AS freed
    GROUP BY freed.first_key, freed.tenant, freed.concurrency_key
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM freed
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.reason = 'limit' AND waiting.first_key = freed.first_key
          AND waiting.tenant = freed.tenant AND waiting.concurrency_key = freed.concurrency_key
        ORDER BY waiting.seq
        LIMIT freed.units
        FOR UPDATE SKIP LOCKED
    ) AS waiting
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM woken
    ORDER BY seq
)
SELECT coalesce(sum(units), 0)::bigint FROM freed;

-- statement: limit_restart
-- waiting → ready, for the oldest that waits for each concurrency key of which none is held. From key to key by
-- the index.
WITH RECURSIVE line AS (
    (SELECT waiting.first_key, waiting.tenant, waiting.concurrency_key
     FROM inbox.waiting AS waiting
     WHERE waiting.reason = 'limit'
     ORDER BY waiting.first_key, waiting.tenant, waiting.concurrency_key
     LIMIT 1)
    UNION ALL
    SELECT next.*
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.first_key, waiting.tenant, waiting.concurrency_key
        FROM inbox.waiting AS waiting
        WHERE waiting.reason = 'limit'
          AND (waiting.first_key, waiting.tenant, waiting.concurrency_key)
              > (line.first_key, line.tenant, line.concurrency_key)
        ORDER BY waiting.first_key, waiting.tenant, waiting.concurrency_key
        LIMIT 1
    ) AS next
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.reason = 'limit' AND waiting.first_key = line.first_key
          AND waiting.tenant = line.tenant AND waiting.concurrency_key = line.concurrency_key
        ORDER BY waiting.seq
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS waiting
    -- One look for each, and no join, which may read all that is held.
    WHERE (
        SELECT true
        FROM inbox.held AS held
        WHERE held.limited AND held.first_key = line.first_key AND held.tenant = line.tenant
          AND held.concurrency_key = line.concurrency_key
        LIMIT 1
    ) IS NULL
    LIMIT $1
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key,
           concurrency_key, carry
    FROM woken
    ORDER BY seq
)
SELECT count(*) FROM next;

-- statement: orphan_take
-- ready → dead, for a key that no live host serves, not even by now.
--
-- Of a lane, its head alone, which keeps the lane: what comes after it waits for what is decided about it. Those
-- are put behind as by a claim (claim_shared.sql).
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '')
        FROM inbox.route AS route
        WHERE route.handler_key = $2
        LIMIT 1
    ), $2) AS key
),
orphan AS MATERIALIZED (
    SELECT ready.ctid AS row, ready.seq, ready.message_id, ready.tenant, ready.ordering_key
    FROM inbox.ready AS ready
    WHERE ready.handler_key = $2 AND NOT EXISTS (
        SELECT 1
        FROM clock, inbox.host AS host
        WHERE host.seen_at + $3::interval > clock.now AND host.serves ? $2
    )
    ORDER BY ready.handler_key, ready.level, ready.version, ready.seq
    LIMIT $4
    FOR UPDATE OF ready SKIP LOCKED
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head,
           lane.message_id = found.message_id AND lane.head_key = $2 AS is_head
    FROM orphan AS found
    LEFT JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
) AS lane ON true
    WHERE found.ordering_key IS NOT NULL
),
-- A lane that nobody is in is for the oldest of its key, also where that is not among those looked at, so that those
-- behind it stand in nobody's way. In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL) AS open
    CROSS JOIN LATERAL inbox.lane_next(first.key, open.tenant, open.ordering_key) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE NOT oldest.waits
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key = $2 AS is_mine
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT found.row, lane.message_id = found.message_id AND lane.head_key = $2 AS is_head
    FROM keyed AS found
    CROSS JOIN LATERAL (
    SELECT lane.message_id, lane.head_key
    FROM inbox.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
    FOR SHARE SKIP LOCKED
) AS lane
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
    DELETE FROM inbox.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM judged WHERE NOT is_head))
    RETURNING *
),
put_behind AS (
    INSERT INTO inbox.waiting (
        message_id, handler_key, version, priority, attempts, crashes, due_at, reason, tenant, ordering_key,
        concurrency_key, first_key, seq, carry
    )
    SELECT message_id, handler_key, version, priority, attempts, crashes, clock.now, 'lane', tenant,
           ordering_key, concurrency_key, first.key, seq, carry
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM judged WHERE is_head))
    RETURNING *
),
dead AS (
    INSERT INTO inbox.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at
    )
    SELECT taken.message_id, taken.handler_key, taken.version, taken.priority, taken.attempts, $5, $5,
           $6, clock.now
    FROM clock, taken
    ON CONFLICT DO NOTHING
)
SELECT message_id, attempts FROM taken;

