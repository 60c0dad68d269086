-- statement: accept_one()
-- nothing → message, with its deliveries, as accept.sql does for many: fewer steps, for what is done
-- most. Answers when, or nothing if there was a conflict.
WITH accepted AS (
    INSERT INTO inbox.message (id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at)
    VALUES (
        $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
        coalesce($1::timestamptz, clock_timestamp())
    )
    ON CONFLICT DO NOTHING
    RETURNING accepted_at, greatest(
        accepted_at,
        coalesce($15::timestamptz, accepted_at + $16::interval, accepted_at)
    ) AS due_at
),
-- What shares an ordering key with something that waits for a handler waits behind that.
route AS MATERIALIZED (
    SELECT route.handler_key
    FROM inbox.route AS route
    WHERE route.contract = $4 AND route.superseded_by IS NULL AND ($9::text IS NULL OR (
        SELECT true
        FROM inbox.waiting AS before
        WHERE before.handler_key = '' AND before.contract = $4 AND before.tenant = $3 AND before.ordering_key = $9
        LIMIT 1
    ) IS NULL)
),
made_ready AS (
    INSERT INTO inbox.ready (
        handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key
    )
    SELECT route.handler_key, $14::smallint, $5::integer, $2::uuid, $3::text, $9::text, $10::text
    FROM accepted, route
    WHERE accepted.due_at <= accepted.accepted_at
    ORDER BY route.handler_key
),
made_waiting AS (
    INSERT INTO inbox.waiting (
        message_id, handler_key, contract, version, priority, due_at, reason, tenant, ordering_key,
        concurrency_key
    )
    SELECT $2::uuid, coalesce(route.handler_key, ''), $4::text, $5::integer, $14::smallint,
           accepted.due_at,
           CASE WHEN route.handler_key IS NULL THEN 'no-route' ELSE 'delay' END, $3::text, $9::text, $10::text
    FROM accepted
    LEFT JOIN route ON true
    WHERE route.handler_key IS NULL OR accepted.due_at > accepted.accepted_at
)
SELECT accepted_at FROM accepted;

-- statement: accepted_before()
-- The messages that envelopes repeat: the same id, or else the same key.
SELECT given.place, message.*
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
    WITH ORDINALITY AS given (id, tenant, contract, idempotency_key, place)
CROSS JOIN LATERAL (
    SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message AS first
    WHERE first.id = given.id
    UNION ALL
    SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message AS first
    WHERE first.tenant = given.tenant AND first.contract = given.contract
      AND first.idempotency_key = given.idempotency_key
    LIMIT 1
) AS message;

-- statement: promote()
-- waiting → ready, for deliveries whose time has come, the one that waited longest first.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
due AS MATERIALIZED (
    SELECT ctid AS row
    FROM inbox.waiting
    -- A subselect, and no join: only so is it a condition of the index.
    WHERE handler_key <> '' AND first_key IS NULL AND due_at <= (SELECT now FROM clock)
    ORDER BY due_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
taken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM due)) RETURNING *
),
promoted AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    -- One that starts only now is accepted now, as far as its lane is concerned.
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, CASE reason WHEN 'delay' THEN nextval('inbox.position') ELSE position END, attempts, crashes, carry
    FROM taken
    ORDER BY due_at, message_id, handler_key
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken;

-- statement: route()
-- waiting for a route → ready or waiting, for messages whose contract has one by now, in the order in which they
-- were accepted. One at a time does it for a contract, so that nobody overtakes.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
routed AS MATERIALIZED (
    SELECT one.contract
    FROM (
        SELECT DISTINCT contract FROM inbox.route WHERE superseded_by IS NULL ORDER BY contract
    ) AS one
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.handler_key = '' AND waiting.contract = one.contract
        ORDER BY waiting.position
        LIMIT 1
    ) AS oldest
    -- Whoever has the oldest takes those that follow it too: others leave the contract to it.
    CROSS JOIN LATERAL (
        SELECT 1 FROM inbox.waiting AS waiting WHERE waiting.ctid = oldest.row FOR UPDATE SKIP LOCKED
    ) AS guard
),
unrouted AS MATERIALIZED (
    SELECT waiting.row
    FROM routed
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.handler_key = '' AND waiting.contract = routed.contract
        ORDER BY waiting.position
        LIMIT $2
        -- Not past those that another one takes: an older one may have been committed since it looked.
        FOR UPDATE
    ) AS waiting
    LIMIT $2
),
taken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM unrouted)) RETURNING *
),
delivery AS MATERIALIZED (
    SELECT taken.position, taken.message_id, taken.version, taken.priority, taken.due_at, taken.tenant, taken.ordering_key,
           taken.concurrency_key, route.handler_key, clock.now
    FROM clock, taken
    JOIN inbox.route AS route USING (contract)
    WHERE route.superseded_by IS NULL
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position
    FROM delivery
    WHERE due_at <= now
    ORDER BY position, handler_key
    ON CONFLICT DO NOTHING
),
made_waiting AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, due_at, reason)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, due_at, 'delay'
    FROM delivery
    WHERE due_at > now
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken;

-- statement: message()
SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at
FROM inbox.message
WHERE id = $1;

-- statement: reschedule()
-- ready or waiting → ready or waiting, with another start. Answers which deliveries it found: one that
-- moves meanwhile is in neither place, and looked for again.
WITH clock AS MATERIALIZED (
    SELECT now, greatest(now, coalesce($4::timestamptz, now + $5::interval, now)) AS due_at
    FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) AS given
),
-- What waits for a route goes on waiting for it. What waits behind others gives up its turn, until then.
put_off AS (
    UPDATE inbox.waiting AS waiting
    SET due_at = clock.due_at,
        reason = CASE WHEN waiting.first_key IS NULL THEN waiting.reason ELSE 'delay' END,
        first_key = NULL
    FROM clock
    WHERE waiting.message_id = $2 AND ($3::text IS NULL OR waiting.handler_key = $3)
      AND (clock.due_at > clock.now OR waiting.handler_key = '')
    RETURNING waiting.handler_key
),
was_ready AS (
    DELETE FROM inbox.ready AS ready
    USING clock
    WHERE ready.message_id = $2 AND ($3 IS NULL OR ready.handler_key = $3)
      AND clock.due_at > clock.now
    RETURNING ready.*
),
-- Ready already, it keeps its turn.
is_ready AS MATERIALIZED (
    SELECT ready.handler_key
    FROM clock, inbox.ready AS ready
    WHERE ready.message_id = $2 AND ($3 IS NULL OR ready.handler_key = $3)
      AND clock.due_at <= clock.now
),
-- Behind others, it keeps its turn.
is_behind AS MATERIALIZED (
    SELECT waiting.handler_key
    FROM clock, inbox.waiting AS waiting
    WHERE waiting.message_id = $2 AND ($3 IS NULL OR waiting.handler_key = $3)
      AND waiting.first_key IS NOT NULL AND clock.due_at <= clock.now
),
was_waiting AS (
    DELETE FROM inbox.waiting AS waiting
    USING clock
    WHERE waiting.message_id = $2 AND ($3 IS NULL OR waiting.handler_key = $3)
      -- In these words, as in plainer ones it could be read from the index of all that waits for a moment.
      AND waiting.handler_key <> '' AND coalesce(waiting.first_key, '') = '' AND clock.due_at <= clock.now
    RETURNING waiting.*
),
made_waiting AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, attempts, crashes, carry, due_at, reason)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, attempts, crashes, carry, clock.due_at, 'delay'
    FROM clock, was_ready
    ON CONFLICT DO NOTHING
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, CASE reason WHEN 'delay' THEN nextval('inbox.position') ELSE position END, attempts, crashes, carry
    FROM was_waiting
    ORDER BY handler_key
    ON CONFLICT DO NOTHING
)
-- What is ready is touched first and what waits then, as cancel does.
SELECT handler_key FROM was_ready
UNION ALL SELECT handler_key FROM is_ready
UNION ALL SELECT handler_key FROM put_off
UNION ALL SELECT handler_key FROM is_behind
UNION ALL SELECT handler_key FROM was_waiting;

-- statement: bulk_accept()
-- (put aside) → message, with its deliveries, as accept.sql does; a page of them, in the order of the
-- bytes of their keys, so that no two callers wait for each other; of equal keys the first. Answers how many there were, and
-- how many of them were new.
WITH page AS MATERIALIZED (
    DELETE FROM pg_temp.inbox_bulk
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM pg_temp.inbox_bulk
        ORDER BY tenant COLLATE "C", contract COLLATE "C", idempotency_key COLLATE "C", place
        LIMIT $1
    ))
    RETURNING *
),
accepted AS (
    INSERT INTO inbox.message (id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at)
    SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at
    FROM page
    ORDER BY tenant COLLATE "C", contract COLLATE "C", idempotency_key COLLATE "C", place
    ON CONFLICT DO NOTHING
    RETURNING id
),
delivery AS MATERIALIZED (
    SELECT id AS message_id, accepted.contract, version, priority, tenant, ordering_key, concurrency_key, due_at,
           accepted_at, place, coalesce(route.handler_key, '') AS handler_key
    FROM accepted AS new
    JOIN page AS accepted USING (id)
    -- What shares an ordering key with something that waits for a handler waits behind that.
    LEFT JOIN inbox.route AS route
        ON route.contract = accepted.contract AND route.superseded_by IS NULL AND (accepted.ordering_key IS NULL OR (
        SELECT true
        FROM inbox.waiting AS before
        WHERE before.handler_key = '' AND before.contract = accepted.contract
          AND before.tenant = accepted.tenant AND before.ordering_key = accepted.ordering_key
        LIMIT 1
    ) IS NULL)
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key <> '' AND due_at <= accepted_at
    ORDER BY place, handler_key
),
made_waiting AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, contract, due_at, reason)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, contract, due_at, CASE WHEN handler_key = '' THEN 'no-route' ELSE 'delay' END
    FROM delivery
    WHERE handler_key = '' OR due_at > accepted_at
    ORDER BY place
)
SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM accepted);

-- statement: reclaim()
-- held → ready, dead or done, for leases that have expired. The attempt is not counted, and recorded with the
-- host that vanished. What a worker is about to settle is locked, and left to it. Answers each by name.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
expired AS MATERIALIZED (
    SELECT lease.id, lease.host, lease.alone, lease.max_crashes
    FROM inbox.lease AS lease
    WHERE lease.expires_at <= (SELECT now FROM clock)
      -- Not while somebody settles a run of it: of a run, the last ones are taken first.
      AND (SELECT count(*) FROM inbox.lane WHERE lane.lease_id = lease.id) = (
          SELECT count(*)
          FROM (SELECT 1 FROM inbox.lane WHERE lane.lease_id = lease.id FOR UPDATE SKIP LOCKED) AS mine
      )
    ORDER BY lease.expires_at, lease.id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
mine AS MATERIALIZED (
    SELECT held.*, expired.host, clock.now, begun.is_first, one.state,
           held.crashes + (begun.is_first OR NOT begun.was_careful)::integer AS vanished,
           one.state = 'dead' AND held.blocks AS blocks_lane
    FROM clock, expired
    CROSS JOIN LATERAL (
        SELECT ctid AS row, held.*
        FROM inbox.held AS held
        WHERE held.lease_id = expired.id
        ORDER BY held.position DESC
        LIMIT $2
        FOR UPDATE SKIP LOCKED
    ) AS held
    -- Of a run in which one had a crash before, each began when the one before was settled: so the first one had
    -- begun. Of another run, nobody knows how many had.
    CROSS JOIN LATERAL (
        SELECT (
            SELECT true
            FROM inbox.held AS before
            WHERE before.lease_id = expired.id AND before.tenant = held.tenant
              AND before.ordering_key = held.ordering_key AND before.position < held.position
            LIMIT 1
        ) IS NULL AS is_first, (
            SELECT true
            FROM inbox.held AS crashed
            WHERE crashed.lease_id = expired.id AND crashed.tenant = held.tenant
              AND crashed.ordering_key = held.ordering_key AND crashed.crashes > 0
            LIMIT 1
        ) IS NOT NULL AS was_careful
    ) AS begun
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN held.cancel THEN 'cancelled'
            -- The first two accuse nobody, and the last one must have held it alone.
            WHEN expired.alone AND held.crashes - 1 >= expired.max_crashes THEN 'dead'
            ELSE 'pending'
        END AS state
    ) AS one
    LIMIT $2
),
-- Also what was left empty.
over AS MATERIALIZED (
    SELECT id
    FROM expired
    WHERE (
        SELECT true
        FROM inbox.held AS held
        WHERE held.lease_id = expired.id
          AND (held.lease_id, held.message_id) NOT IN (SELECT lease_id, message_id FROM mine)
        LIMIT 1
    ) IS NULL
),
ended AS (
    DELETE FROM inbox.lease WHERE id = ANY (ARRAY(SELECT id FROM over))
),
-- Of the others, the worker must not begin what is taken from it here.
lost AS (
    UPDATE inbox.lease SET reclaimed = true
    WHERE id = ANY (ARRAY(SELECT lease_id FROM mine EXCEPT SELECT id FROM over))
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
-- The lanes of those that do not come to an end: the first that blocks its lane is the next holder.
stays AS MATERIALIZED (
    SELECT DISTINCT ON (lane.row) lane.row, mine.message_id, mine.handler_key
    FROM mine
    CROSS JOIN LATERAL (
        SELECT ctid AS row, lease_id, message_id
        FROM inbox.lane AS lane
        WHERE lane.handler_key = mine.first_key AND lane.tenant = mine.tenant
          AND lane.ordering_key = mine.ordering_key
        LIMIT 1
    ) AS lane
    -- Not one that came later in a run, if its worker settles it all the same.
    WHERE mine.blocks_lane AND lane.lease_id = mine.lease_id AND lane.message_id IS NULL
    ORDER BY lane.row, mine.position
),
kept AS (
    UPDATE inbox.lane AS lane
    SET message_id = stays.message_id, head_key = stays.handler_key, since = clock.now
    FROM clock, stays
    WHERE lane.ctid = stays.row
),
returned AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt - 1, vanished, carry
    FROM mine
    WHERE state = 'pending'
    ORDER BY leased_at, position
    ON CONFLICT DO NOTHING
),
done AS (
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, state, attempt - 1, greatest(now - leased_at, interval '0'), now
    FROM mine
    WHERE state = 'cancelled'
),
dead AS (
    INSERT INTO inbox.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks, position
    )
    SELECT message_id, handler_key, version, priority, attempt - 1, $3, $3, $4, now, blocks, position
    FROM mine
    WHERE state = 'dead'
    ON CONFLICT DO NOTHING
),
attempt AS (
    INSERT INTO inbox.attempt (
        message_id, handler_key, attempt, host, leased_at, settled_at, error_type, error
    )
    SELECT message_id, handler_key, attempt, host, leased_at, now, $3, $4
    FROM mine
    WHERE state <> 'cancelled' AND is_first
)
SELECT message_id, handler_key, host, attempt - 1, vanished, state, first_key, tenant, ordering_key,
       limited OR concurrency_key IS NOT NULL AS is_counted, concurrency_key
FROM mine;

-- statement: lanes_lost()
-- Lanes whose holder is nowhere, or without a holder while the next delivery waits: nobody would ever take them.
SELECT lane.handler_key, lane.tenant, lane.ordering_key
FROM (
    SELECT lane.*, lane.lease_id IS NOT NULL AND (
        SELECT true
        FROM inbox.held AS held
        WHERE held.lease_id = lane.lease_id AND held.tenant = lane.tenant
          AND held.ordering_key = lane.ordering_key AND held.ordering_key IS NOT NULL
        LIMIT 1
    ) IS NOT NULL AS runs,
    lane.message_id IS NOT NULL AND coalesce((
        SELECT true FROM inbox.ready AS ready
        WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
        LIMIT 1
    ), (
        SELECT true FROM inbox.waiting AS waiting
        WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
          AND waiting.reason NOT IN ('lane', 'delay')
        LIMIT 1
    ), (
        SELECT true FROM inbox.dead AS dead
        WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key AND dead.blocks
        LIMIT 1
    )) IS NOT NULL AS has_head
    FROM inbox.lane AS lane
) AS lane
WHERE NOT runs AND (lease_id IS NOT NULL OR NOT has_head AND (message_id IS NOT NULL OR (
    SELECT next.waits
    FROM inbox.lane_next(lane.handler_key, lane.tenant, lane.ordering_key, lane.mark, 1) AS next
    LIMIT 1
) IS DISTINCT FROM false))
LIMIT $1;

-- statement: lane_restart()
-- waiting → ready, for the oldest behind each lane that is gone: the next claim that meets it wins the lane. From
-- lane to lane by the index, so that deep ones cost no more than shallow ones.
WITH RECURSIVE line AS (
    (SELECT waiting.first_key, waiting.tenant, waiting.ordering_key
     FROM inbox.waiting AS waiting
     WHERE waiting.reason = 'lane'
     ORDER BY waiting.first_key, waiting.tenant, waiting.ordering_key
     LIMIT 1)
    UNION ALL
    SELECT next.*
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.first_key, waiting.tenant, waiting.ordering_key
        FROM inbox.waiting AS waiting
        WHERE waiting.reason = 'lane'
          AND (waiting.first_key, waiting.tenant, waiting.ordering_key)
              > (line.first_key, line.tenant, line.ordering_key)
        ORDER BY waiting.first_key, waiting.tenant, waiting.ordering_key
        LIMIT 1
    ) AS next
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM inbox.waiting AS waiting
        WHERE waiting.reason = 'lane' AND waiting.first_key = line.first_key
          AND waiting.tenant = line.tenant AND waiting.ordering_key = line.ordering_key
        ORDER BY waiting.position
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS waiting
    -- One look for each, and no join, which may read all lanes.
    WHERE (
        SELECT true
        FROM inbox.lane AS lane
        WHERE lane.handler_key = line.first_key AND lane.tenant = line.tenant
          AND lane.ordering_key = line.ordering_key
        LIMIT 1
    ) IS NULL
    LIMIT $1
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
)
SELECT count(*) FROM next;

-- statement: limit_restart()
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
        ORDER BY waiting.position
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
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
)
SELECT count(*) FROM next;

-- statement: accept()
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
    INSERT INTO inbox.message (id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at)
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
    RETURNING id AS message_id, tenant, contract, version, ordering_key, concurrency_key, accepted_at
),
-- Once for each contract, and not for each message.
route AS MATERIALIZED (
    SELECT contract, handler_key FROM inbox.route
    WHERE contract = ANY ($4::text[]) AND superseded_by IS NULL
),
delivery AS MATERIALIZED (
    SELECT accepted.*, coalesce(route.handler_key, '') AS handler_key, given.priority, given.place,
           greatest(accepted_at, coalesce(given.start_at, accepted_at + given.start_after, accepted_at)) AS due_at
    FROM accepted
    JOIN unnest($2::uuid[], $14::smallint[], $15::timestamptz[], $16::interval[], $17::bigint[])
        AS given (message_id, priority, start_at, start_after, place) USING (message_id)
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
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key <> '' AND due_at <= accepted_at
    ORDER BY place, handler_key
),
made_waiting AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, contract, due_at, reason)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, contract, due_at, CASE WHEN handler_key = '' THEN 'no-route' ELSE 'delay' END
    FROM delivery
    WHERE handler_key = '' OR due_at > accepted_at
    ORDER BY place
)
SELECT now, ARRAY(SELECT message_id FROM accepted) FROM clock;

-- statement: accept_keyless()
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
    INSERT INTO inbox.message (id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at)
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
    
    RETURNING id AS message_id, tenant, contract, version, ordering_key, concurrency_key, accepted_at
),
-- Once for each contract, and not for each message.
route AS MATERIALIZED (
    SELECT contract, handler_key FROM inbox.route
    WHERE contract = ANY ($4::text[]) AND superseded_by IS NULL
),
delivery AS MATERIALIZED (
    SELECT accepted.*, coalesce(route.handler_key, '') AS handler_key, given.priority, given.place,
           greatest(accepted_at, coalesce(given.start_at, accepted_at + given.start_after, accepted_at)) AS due_at
    FROM accepted
    JOIN unnest($2::uuid[], $14::smallint[], $15::timestamptz[], $16::interval[], $17::bigint[])
        AS given (message_id, priority, start_at, start_after, place) USING (message_id)
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
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key <> '' AND due_at <= accepted_at
    ORDER BY place, handler_key
),
made_waiting AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, contract, due_at, reason)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, contract, due_at, CASE WHEN handler_key = '' THEN 'no-route' ELSE 'delay' END
    FROM delivery
    WHERE handler_key = '' OR due_at > accepted_at
    ORDER BY place
)
SELECT now, ARRAY(SELECT message_id FROM accepted) FROM clock;

-- statement: lane_take(now, lease, host, handler_key, limit, length, max_crashes, duration, limited, blocks, per_key, quarantined, read_keys, read_versions)
-- ready or waiting behind a lane → held, for the lanes that this lease has won: the oldest deliveries of each, in
-- their order, up to the first that this worker may not take. By a statement of its own after the lanes were won: so
-- it sees what their former holders put back. A lane of which nothing can be taken goes to the delivery in the way.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
mine AS MATERIALIZED (
    SELECT ctid AS lane, tenant, ordering_key, mark, (
               SELECT greatest($5::bigint - (SELECT count(*) FROM inbox.held WHERE lease_id = $2), 0)
           ) / count(*) OVER () AS share
    FROM inbox.lane
    WHERE lease_id = $2
),
oldest AS MATERIALIZED (
    SELECT mine.lane, mine.tenant, mine.ordering_key, one.*, row_number() OVER lane = 1 AS is_first,
           ($12::boolean IS NULL OR (one.crashes >= 2) = $12)
           AND (one.handler_key, one.version) IN (
               SELECT * FROM unnest($13::text[], $14::integer[])
           )
           -- One message twice, under two keys that took the place of one: each in a run of its own.
           AND row_number() OVER (PARTITION BY mine.lane, one.message_id ORDER BY one.position) = 1
           AND ($11::integer IS NULL
                OR one.concurrency_key IS NOT DISTINCT FROM first_value(one.concurrency_key) OVER lane) AS is_mine
    FROM first
    CROSS JOIN mine
    CROSS JOIN LATERAL inbox.lane_next(
        first.key, mine.tenant, mine.ordering_key, mine.mark, greatest(1, least($6::bigint, mine.share))
    ) AS one
    WINDOW lane AS (PARTITION BY mine.lane ORDER BY one.position)
),
-- Whoever may be gone in a moment is nobody's next, and nobody waits for it.
in_ready AS MATERIALIZED (
    SELECT ctid AS place FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT place FROM oldest WHERE NOT waits))
    FOR UPDATE SKIP LOCKED
),
in_waiting AS MATERIALIZED (
    SELECT ctid AS place FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT place FROM oldest WHERE waits))
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
crowded AS NOT MATERIALIZED (
    SELECT NULL::tid AS lane WHERE false
),
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
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT place FROM run WHERE NOT waits)) RETURNING *
),
was_waiting AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT place FROM run WHERE waits)) RETURNING *
),
taken AS MATERIALIZED (
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM was_ready
    UNION ALL
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM was_waiting
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $7::integer,
           min(clock.now) + $8::interval, NULL
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $9::boolean, $10::boolean,
           first.key
    FROM clock, first, taken
),
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
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
),
given_up AS (
    UPDATE inbox.lane AS lane
    SET lease_id = NULL, message_id = empty.message_id, head_key = empty.handler_key
    FROM empty
    WHERE lane.ctid = empty.lane AND NOT empty.is_over
),
ended AS (
    DELETE FROM inbox.lane WHERE ctid = ANY (ARRAY(SELECT lane FROM empty WHERE is_over))
)
SELECT $2::uuid AS claim, clock.now, taken.position AS seq, taken.priority AS level, taken.version,
       taken.attempts + 1 AS attempt, taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*,
       taken.tenant AS lane_tenant, taken.ordering_key AS lane_key
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
ORDER BY taken.tenant, taken.ordering_key, taken.position;

-- statement: lane_take_limited(now, lease, host, handler_key, limit, length, max_crashes, duration, limited, blocks, per_key, quarantined, read_keys, read_versions)
-- ready or waiting behind a lane → held, for the lanes that this lease has won: the oldest deliveries of each, in
-- their order, up to the first that this worker may not take. By a statement of its own after the lanes were won: so
-- it sees what their former holders put back. A lane of which nothing can be taken goes to the delivery in the way.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
mine AS MATERIALIZED (
    SELECT ctid AS lane, tenant, ordering_key, mark, (
               SELECT greatest($5::bigint - (SELECT count(*) FROM inbox.held WHERE lease_id = $2), 0)
           ) / count(*) OVER () AS share
    FROM inbox.lane
    WHERE lease_id = $2
),
oldest AS MATERIALIZED (
    SELECT mine.lane, mine.tenant, mine.ordering_key, one.*, row_number() OVER lane = 1 AS is_first,
           ($12::boolean IS NULL OR (one.crashes >= 2) = $12)
           AND (one.handler_key, one.version) IN (
               SELECT * FROM unnest($13::text[], $14::integer[])
           )
           -- One message twice, under two keys that took the place of one: each in a run of its own.
           AND row_number() OVER (PARTITION BY mine.lane, one.message_id ORDER BY one.position) = 1
           AND ($11::integer IS NULL
                OR one.concurrency_key IS NOT DISTINCT FROM first_value(one.concurrency_key) OVER lane) AS is_mine
    FROM first
    CROSS JOIN mine
    CROSS JOIN LATERAL inbox.lane_next(
        first.key, mine.tenant, mine.ordering_key, mine.mark, greatest(1, least($6::bigint, mine.share))
    ) AS one
    WINDOW lane AS (PARTITION BY mine.lane ORDER BY one.position)
),
-- Whoever may be gone in a moment is nobody's next, and nobody waits for it.
in_ready AS MATERIALIZED (
    SELECT ctid AS place FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT place FROM oldest WHERE NOT waits))
    FOR UPDATE SKIP LOCKED
),
in_waiting AS MATERIALIZED (
    SELECT ctid AS place FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT place FROM oldest WHERE waits))
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
-- Lanes whose next delivery exceeds the limit of its concurrency key: it waits for others to end, and keeps its lane.
crowded AS MATERIALIZED (
    SELECT head.*
    FROM first
    CROSS JOIN (
        SELECT *, row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY position) AS nth
        FROM stays WHERE is_first AND is_mine
    ) AS head
    CROSS JOIN LATERAL inbox.permits_used(first.key, head.tenant, head.concurrency_key) AS used
    WHERE head.concurrency_key IS NOT NULL AND head.nth > $11 - used.permits
),
parked AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT place FROM crowded WHERE NOT waits)) RETURNING *
),
put_behind AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, clock.now, 'limit', first.key
    FROM clock, first, parked
),
put_aside AS (
    UPDATE inbox.waiting SET reason = 'limit'
    WHERE ctid = ANY (ARRAY(SELECT place FROM crowded WHERE waits))
),
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
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT place FROM run WHERE NOT waits)) RETURNING *
),
was_waiting AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT place FROM run WHERE waits)) RETURNING *
),
taken AS MATERIALIZED (
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM was_ready
    UNION ALL
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM was_waiting
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $7::integer,
           min(clock.now) + $8::interval, NULL
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $9::boolean, $10::boolean,
           first.key
    FROM clock, first, taken
),
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
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
),
given_up AS (
    UPDATE inbox.lane AS lane
    SET lease_id = NULL, message_id = empty.message_id, head_key = empty.handler_key
    FROM empty
    WHERE lane.ctid = empty.lane AND NOT empty.is_over
),
ended AS (
    DELETE FROM inbox.lane WHERE ctid = ANY (ARRAY(SELECT lane FROM empty WHERE is_over))
)
SELECT $2::uuid AS claim, clock.now, taken.position AS seq, taken.priority AS level, taken.version,
       taken.attempts + 1 AS attempt, taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*,
       taken.tenant AS lane_tenant, taken.ordering_key AS lane_key
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
ORDER BY taken.tenant, taken.ordering_key, taken.position;

-- statement: claim(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, limit, max_crashes, duration, limited, blocks)
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_limited.sql. Each row of the answer names the claim, and there is one even if nothing was taken. It also says
-- whether the handler has anything with an ordering key, which this claim does not look at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT $10
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $10
    ) AS one
    LIMIT $10
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM found)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $11::integer,
           min(clock.now) + $12::interval, NULL
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $13::boolean, $14::boolean,
           first.key
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempts + 1 AS attempt,
       taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_beside_lanes(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, limit, max_crashes, duration, limited, blocks)
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_limited.sql. Each row of the answer names the claim, and there is one even if nothing was taken. It also says
-- whether the handler has anything with an ordering key, which this claim does not look at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
    ) AS one
    LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM found)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $11::integer,
           min(clock.now) + $12::interval, NULL
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $13::boolean, $14::boolean,
           first.key
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempts + 1 AS attempt,
       taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_limited(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, window, limit, lanes, length, max_crashes, duration, limited, blocks, fleet, per_key)
-- ready → held, as claim.sql does, for a handler with limits. What exceeds the limit of its key goes to waiting.
-- The answer also says what became of what was looked at and not taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- How many deliveries without an ordering key may be taken: what the limit of the fleet and the lanes that were won
-- leave. Where there is no other limit, a permit is for several deliveries, of which the worker runs one at a time.
free AS MATERIALIZED (
    SELECT lanes.won, $18::integer IS NOT NULL AND $19::integer IS NULL AS is_shared,
           greatest(least(
               $11::bigint,
               -- Nobody counts what is used where the fleet has no limit.
               CASE WHEN $18 IS NOT NULL THEN $18 - inbox.permits_used(first.key) END,
               -- No more than the worker runs at once.
               CASE WHEN $18 IS NOT NULL AND $19 IS NULL THEN $12::bigint END
           ) - lanes.won, 0) AS permits
    FROM first, (SELECT count(*) AS won FROM inbox.lane WHERE lease_id = $2) AS lanes
),
room AS MATERIALIZED (
    SELECT CASE WHEN is_shared THEN permits END::integer AS permits,
           CASE WHEN is_shared THEN least($11 - won, permits * $13::bigint) ELSE permits END AS deliveries
    FROM free
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
    ) AS one
    LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
),
-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
used AS MATERIALIZED (
    SELECT one.tenant, one.concurrency_key, used.permits
    FROM first
    CROSS JOIN (
        SELECT DISTINCT tenant, concurrency_key FROM found WHERE concurrency_key IS NOT NULL AND $19 IS NOT NULL
    ) AS one
    CROSS JOIN LATERAL inbox.permits_used(first.key, one.tenant, one.concurrency_key) AS used
),
-- What is used and what was found of a key side by side, and no join, which would compare each with each.
ranked AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT row, tenant, concurrency_key, turn,
               coalesce(sum(permits) OVER (PARTITION BY tenant, concurrency_key), 0) AS held,
               row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY turn) AS nth_of_key
        FROM (
            SELECT row, tenant, concurrency_key, ARRAY[array_position($5::smallint[], level), seq] AS turn,
                   NULL AS permits
            FROM found
            UNION ALL
            SELECT NULL, tenant, concurrency_key, NULL, permits FROM used
        ) AS one
    ) AS one
    WHERE row IS NOT NULL
),
by_key AS MATERIALIZED (
    SELECT row, row_number() OVER (ORDER BY turn) AS nth
    FROM ranked
    WHERE $19 IS NULL OR concurrency_key IS NULL OR nth_of_key <= $19 - held
),
granted AS MATERIALIZED (
    SELECT row
    FROM by_key
    WHERE nth <= (SELECT deliveries FROM room)
),
-- Only behind one that is held: whoever ends that wakes it.
crowded AS MATERIALIZED (
    SELECT row
    FROM ranked
    WHERE row NOT IN (SELECT row FROM by_key)
      AND (held > 0 OR (tenant, concurrency_key) IN (
          SELECT tenant, concurrency_key FROM ranked JOIN granted USING (row)
      ))
),
moved AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM crowded)) RETURNING *
),
put_behind AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, clock.now, 'limit', first.key
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $14::integer,
           min(clock.now) + $15::interval, (SELECT permits FROM room)
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $16::boolean, $17::boolean,
           first.key
    FROM clock, first, taken
),
answer AS MATERIALIZED (
    SELECT seq, level, version, attempts + 1 AS attempt, crashes, carry::text, handler_key, message_id, 'taken' AS fate
    FROM taken
    UNION ALL
    SELECT seq, level, version, NULL, NULL, NULL, NULL, NULL, CASE
               WHEN row IN (SELECT row FROM crowded) THEN 'moved'
               -- The fleet has no room for it, and need not be asked again until it has.
               ELSE 'full'
           END
    FROM found
    WHERE row NOT IN (SELECT row FROM granted)
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempt, taken.crashes,
       taken.carry, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes, taken.fate,
       (SELECT permits FROM room) AS permits
FROM clock
LEFT JOIN answer AS taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON taken.fate = 'taken';

-- statement: lane_win(now, lease, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, window, limit, lanes, fleet)
-- lanes → this lease, of which lane_take.sql takes the deliveries: at most $11, and of those only lanes whose
-- turn comes before $10 deliveries that have no ordering key. Answers what has an ordering key and was looked at.
--
-- A lane is won by whoever inserts its row, or finds it without a holder or held by a delivery that is ready. One
-- that is changing hands is left.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $3 LIMIT 1
    ), $3) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $7::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3  AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT $10
            
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $10
    ) AS one
    LIMIT $10
),
-- What has an ordering key, in the same order. Not locked: nobody holds a row while it waits for a lane.
queued AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $8::bigint[]) AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3  AND ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT $9::bigint
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9::bigint
    ) AS one
    LIMIT $9::bigint
),
seen AS MATERIALIZED (
    SELECT tenant, ordering_key, min(ARRAY[array_position($4::smallint[], level), seq]) AS turn
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
            SELECT lease_id, message_id, head_key, mark FROM inbox.lane WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key LIMIT 1
        ) AS lane ON true
        WHERE lane.lease_id IS NULL AND (
            lane.message_id IS NULL
            OR (lane.message_id, lane.head_key) IN (SELECT queued.message_id, $3 FROM queued)
        )
    ) AS free
    LIMIT CASE WHEN $12::integer IS NULL THEN $11::bigint ELSE least($11, greatest(
        $12 - (SELECT inbox.permits_used(first.key) FROM first), 0)) END
),
fit AS MATERIALIZED (
    SELECT turn, tenant, ordering_key, is_new FROM lane
    UNION ALL
    SELECT ARRAY[array_position($4::smallint[], level), seq], NULL, NULL, NULL FROM found
    ORDER BY turn
    LIMIT $10::bigint
),
-- In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, lease_id, since)
    SELECT first.key, fit.tenant, fit.ordering_key, $2, clock.now
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
        FROM inbox.lane
        WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key AND lease_id IS NULL
          AND (message_id IS NULL OR (message_id, head_key) IN (SELECT queued.message_id, $3 FROM queued))
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lane
    WHERE NOT seen.is_new
),
entered AS (
    UPDATE inbox.lane AS lane
    SET lease_id = $2, message_id = NULL, head_key = NULL, since = clock.now
    FROM clock, open
    WHERE lane.ctid = open.row
)
SELECT $2::uuid AS claim, queued.seq, queued.level, queued.version,
       (tenant, ordering_key) IN (SELECT tenant, ordering_key FROM lane) AS is_free, tenant, ordering_key
FROM clock
LEFT JOIN queued ON true;

-- statement: lane_behind(now, lease, handler_key, levels, scan_levels, scan_versions, lane_lows, window, limit, lanes)
-- ready → waiting, for what is met behind a lane that somebody holds, where that keeps a claim from finding enough:
-- the next ones get at what comes after it. Under a lock that whoever ends the run takes too, so that nobody is left
-- behind. Answers what was looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $3 LIMIT 1
    ), $3) AS key
),
-- What has an ordering key, in the same order. Not locked: nobody holds a row while it waits for a lane.
queued AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $7::bigint[]) AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3  AND ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low 
            ORDER BY seq
            LIMIT $8::bigint
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $8::bigint
    ) AS one
    LIMIT $8::bigint
),
lane AS MATERIALIZED (
    SELECT lane.*
    FROM (SELECT DISTINCT tenant, ordering_key FROM queued) AS seen
    CROSS JOIN LATERAL (
        SELECT tenant, ordering_key, message_id, head_key
        FROM inbox.lane
        WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key AND num_nonnulls(lease_id, message_id) > 0
        LIMIT 1
        FOR SHARE SKIP LOCKED
    ) AS lane
),
-- Enough are as many deliveries as were wanted, less what is left over where lanes share them; or as many lanes.
enough AS MATERIALIZED (
    SELECT won.count >= $10::bigint OR won.count + held.count > $9::bigint OR held.count >= $9 AS are_found
    FROM (SELECT count(*) FROM inbox.lane WHERE lease_id = $2) AS won,
         (SELECT count(*) FROM inbox.held WHERE lease_id = $2) AS held
),
behind AS MATERIALIZED (
    SELECT row
    FROM queued
    WHERE NOT (SELECT are_found FROM enough)
      AND (tenant, ordering_key) IN (SELECT tenant, ordering_key FROM lane)
      AND message_id NOT IN (
          SELECT message_id FROM lane WHERE head_key = $3 AND message_id IS NOT NULL
      )
),
moved AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM behind)) RETURNING *
),
put_behind AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, clock.now, 'lane', first.key
    FROM clock, first, moved
)
SELECT $2::uuid AS claim, queued.seq, queued.level, queued.version,
       queued.row IN (SELECT row FROM behind) AS is_moved
FROM clock
LEFT JOIN queued ON true;

-- statement: claim_tenants(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, limit, max_crashes, duration, limited, blocks, tenants)
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_limited.sql. Each row of the answer names the claim, and there is one even if nothing was taken. It also says
-- whether the handler has anything with an ordering key, which this claim does not look at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) CROSS JOIN unnest($15::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4 COLLATE "C" AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT $10
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $10
    ) AS one
    LIMIT $10
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM found)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $11::integer,
           min(clock.now) + $12::interval, NULL
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $13::boolean, $14::boolean,
           first.key
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempts + 1 AS attempt,
       taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_beside_lanes_tenants(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, limit, max_crashes, duration, limited, blocks, tenants)
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_limited.sql. Each row of the answer names the claim, and there is one even if nothing was taken. It also says
-- whether the handler has anything with an ordering key, which this claim does not look at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) CROSS JOIN unnest($15::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4 COLLATE "C" AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
    ) AS one
    LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM found)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $11::integer,
           min(clock.now) + $12::interval, NULL
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $13::boolean, $14::boolean,
           first.key
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempts + 1 AS attempt,
       taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_limited_tenants(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, window, limit, lanes, length, max_crashes, duration, limited, blocks, fleet, per_key, tenants)
-- ready → held, as claim.sql does, for a handler with limits. What exceeds the limit of its key goes to waiting.
-- The answer also says what became of what was looked at and not taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- How many deliveries without an ordering key may be taken: what the limit of the fleet and the lanes that were won
-- leave. Where there is no other limit, a permit is for several deliveries, of which the worker runs one at a time.
free AS MATERIALIZED (
    SELECT lanes.won, $18::integer IS NOT NULL AND $19::integer IS NULL AS is_shared,
           greatest(least(
               $11::bigint,
               -- Nobody counts what is used where the fleet has no limit.
               CASE WHEN $18 IS NOT NULL THEN $18 - inbox.permits_used(first.key) END,
               -- No more than the worker runs at once.
               CASE WHEN $18 IS NOT NULL AND $19 IS NULL THEN $12::bigint END
           ) - lanes.won, 0) AS permits
    FROM first, (SELECT count(*) AS won FROM inbox.lane WHERE lease_id = $2) AS lanes
),
room AS MATERIALIZED (
    SELECT CASE WHEN is_shared THEN permits END::integer AS permits,
           CASE WHEN is_shared THEN least($11 - won, permits * $13::bigint) ELSE permits END AS deliveries
    FROM free
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) CROSS JOIN unnest($20::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4 COLLATE "C" AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
    ) AS one
    LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
),
-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
used AS MATERIALIZED (
    SELECT one.tenant, one.concurrency_key, used.permits
    FROM first
    CROSS JOIN (
        SELECT DISTINCT tenant, concurrency_key FROM found WHERE concurrency_key IS NOT NULL AND $19 IS NOT NULL
    ) AS one
    CROSS JOIN LATERAL inbox.permits_used(first.key, one.tenant, one.concurrency_key) AS used
),
-- What is used and what was found of a key side by side, and no join, which would compare each with each.
ranked AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT row, tenant, concurrency_key, turn,
               coalesce(sum(permits) OVER (PARTITION BY tenant, concurrency_key), 0) AS held,
               row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY turn) AS nth_of_key
        FROM (
            SELECT row, tenant, concurrency_key, ARRAY[array_position($5::smallint[], level), seq] AS turn,
                   NULL AS permits
            FROM found
            UNION ALL
            SELECT NULL, tenant, concurrency_key, NULL, permits FROM used
        ) AS one
    ) AS one
    WHERE row IS NOT NULL
),
by_key AS MATERIALIZED (
    SELECT row, row_number() OVER (ORDER BY turn) AS nth
    FROM ranked
    WHERE $19 IS NULL OR concurrency_key IS NULL OR nth_of_key <= $19 - held
),
granted AS MATERIALIZED (
    SELECT row
    FROM by_key
    WHERE nth <= (SELECT deliveries FROM room)
),
-- Only behind one that is held: whoever ends that wakes it.
crowded AS MATERIALIZED (
    SELECT row
    FROM ranked
    WHERE row NOT IN (SELECT row FROM by_key)
      AND (held > 0 OR (tenant, concurrency_key) IN (
          SELECT tenant, concurrency_key FROM ranked JOIN granted USING (row)
      ))
),
moved AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM crowded)) RETURNING *
),
put_behind AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, clock.now, 'limit', first.key
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $14::integer,
           min(clock.now) + $15::interval, (SELECT permits FROM room)
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $16::boolean, $17::boolean,
           first.key
    FROM clock, first, taken
),
answer AS MATERIALIZED (
    SELECT seq, level, version, attempts + 1 AS attempt, crashes, carry::text, handler_key, message_id, 'taken' AS fate
    FROM taken
    UNION ALL
    SELECT seq, level, version, NULL, NULL, NULL, NULL, NULL, CASE
               WHEN row IN (SELECT row FROM crowded) THEN 'moved'
               -- The fleet has no room for it, and need not be asked again until it has.
               ELSE 'full'
           END
    FROM found
    WHERE row NOT IN (SELECT row FROM granted)
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempt, taken.crashes,
       taken.carry, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes, taken.fate,
       (SELECT permits FROM room) AS permits
FROM clock
LEFT JOIN answer AS taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON taken.fate = 'taken';

-- statement: lane_win_tenants(now, lease, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, window, limit, lanes, fleet, tenants)
-- lanes → this lease, of which lane_take.sql takes the deliveries: at most $11, and of those only lanes whose
-- turn comes before $10 deliveries that have no ordering key. Answers what has an ordering key and was looked at.
--
-- A lane is won by whoever inserts its row, or finds it without a holder or held by a delivery that is ready. One
-- that is changing hands is left.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $3 LIMIT 1
    ), $3) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $7::bigint[])
            AS scan (level, version, low) CROSS JOIN unnest($13::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3 COLLATE "C" AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT $10
            
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $10
    ) AS one
    LIMIT $10
),
-- What has an ordering key, in the same order. Not locked: nobody holds a row while it waits for a lane.
queued AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $8::bigint[]) AS scan (level, version, low) CROSS JOIN unnest($13::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3 COLLATE "C" AND ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT $9::bigint
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9::bigint
    ) AS one
    LIMIT $9::bigint
),
seen AS MATERIALIZED (
    SELECT tenant, ordering_key, min(ARRAY[array_position($4::smallint[], level), seq]) AS turn
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
            SELECT lease_id, message_id, head_key, mark FROM inbox.lane WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key LIMIT 1
        ) AS lane ON true
        WHERE lane.lease_id IS NULL AND (
            lane.message_id IS NULL
            OR (lane.message_id, lane.head_key) IN (SELECT queued.message_id, $3 FROM queued)
        )
    ) AS free
    LIMIT CASE WHEN $12::integer IS NULL THEN $11::bigint ELSE least($11, greatest(
        $12 - (SELECT inbox.permits_used(first.key) FROM first), 0)) END
),
fit AS MATERIALIZED (
    SELECT turn, tenant, ordering_key, is_new FROM lane
    UNION ALL
    SELECT ARRAY[array_position($4::smallint[], level), seq], NULL, NULL, NULL FROM found
    ORDER BY turn
    LIMIT $10::bigint
),
-- In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, lease_id, since)
    SELECT first.key, fit.tenant, fit.ordering_key, $2, clock.now
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
        FROM inbox.lane
        WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key AND lease_id IS NULL
          AND (message_id IS NULL OR (message_id, head_key) IN (SELECT queued.message_id, $3 FROM queued))
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lane
    WHERE NOT seen.is_new
),
entered AS (
    UPDATE inbox.lane AS lane
    SET lease_id = $2, message_id = NULL, head_key = NULL, since = clock.now
    FROM clock, open
    WHERE lane.ctid = open.row
)
SELECT $2::uuid AS claim, queued.seq, queued.level, queued.version,
       (tenant, ordering_key) IN (SELECT tenant, ordering_key FROM lane) AS is_free, tenant, ordering_key
FROM clock
LEFT JOIN queued ON true;

-- statement: lane_behind_tenants(now, lease, handler_key, levels, scan_levels, scan_versions, lane_lows, window, limit, lanes, tenants)
-- ready → waiting, for what is met behind a lane that somebody holds, where that keeps a claim from finding enough:
-- the next ones get at what comes after it. Under a lock that whoever ends the run takes too, so that nobody is left
-- behind. Answers what was looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $3 LIMIT 1
    ), $3) AS key
),
-- What has an ordering key, in the same order. Not locked: nobody holds a row while it waits for a lane.
queued AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $7::bigint[]) AS scan (level, version, low) CROSS JOIN unnest($11::text[]) AS served (tenant)
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3 COLLATE "C" AND ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = served.tenant AND tenant <> ''
            ORDER BY seq
            LIMIT $8::bigint
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $8::bigint
    ) AS one
    LIMIT $8::bigint
),
lane AS MATERIALIZED (
    SELECT lane.*
    FROM (SELECT DISTINCT tenant, ordering_key FROM queued) AS seen
    CROSS JOIN LATERAL (
        SELECT tenant, ordering_key, message_id, head_key
        FROM inbox.lane
        WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key AND num_nonnulls(lease_id, message_id) > 0
        LIMIT 1
        FOR SHARE SKIP LOCKED
    ) AS lane
),
-- Enough are as many deliveries as were wanted, less what is left over where lanes share them; or as many lanes.
enough AS MATERIALIZED (
    SELECT won.count >= $10::bigint OR won.count + held.count > $9::bigint OR held.count >= $9 AS are_found
    FROM (SELECT count(*) FROM inbox.lane WHERE lease_id = $2) AS won,
         (SELECT count(*) FROM inbox.held WHERE lease_id = $2) AS held
),
behind AS MATERIALIZED (
    SELECT row
    FROM queued
    WHERE NOT (SELECT are_found FROM enough)
      AND (tenant, ordering_key) IN (SELECT tenant, ordering_key FROM lane)
      AND message_id NOT IN (
          SELECT message_id FROM lane WHERE head_key = $3 AND message_id IS NOT NULL
      )
),
moved AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM behind)) RETURNING *
),
put_behind AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, clock.now, 'lane', first.key
    FROM clock, first, moved
)
SELECT $2::uuid AS claim, queued.seq, queued.level, queued.version,
       queued.row IN (SELECT row FROM behind) AS is_moved
FROM clock
LEFT JOIN queued ON true;

-- statement: claim_tenants_and_none(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, limit, max_crashes, duration, limited, blocks, tenants)
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_limited.sql. Each row of the answer names the claim, and there is one even if nothing was taken. It also says
-- whether the handler has anything with an ordering key, which this claim does not look at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($15)
            ORDER BY seq
            LIMIT $10
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $10
    ) AS one
    LIMIT $10
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM found)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $11::integer,
           min(clock.now) + $12::interval, NULL
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $13::boolean, $14::boolean,
           first.key
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempts + 1 AS attempt,
       taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_beside_lanes_tenants_and_none(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, limit, max_crashes, duration, limited, blocks, tenants)
-- ready → held, for what has no ordering key and counts for no limit: what is done most, with fewer steps than
-- claim_limited.sql. Each row of the answer names the claim, and there is one even if nothing was taken. It also says
-- whether the handler has anything with an ordering key, which this claim does not look at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($15)
            ORDER BY seq
            LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
    ) AS one
    LIMIT ($10 - (SELECT count(*) FROM inbox.lane WHERE lease_id = $2))
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM found)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $11::integer,
           min(clock.now) + $12::interval, NULL
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $13::boolean, $14::boolean,
           first.key
    FROM clock, first, taken
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempts + 1 AS attempt,
       taken.crashes, taken.carry::text, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes
FROM clock
LEFT JOIN taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true;

-- statement: claim_limited_tenants_and_none(now, lease, host, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, window, limit, lanes, length, max_crashes, duration, limited, blocks, fleet, per_key, tenants)
-- ready → held, as claim.sql does, for a handler with limits. What exceeds the limit of its key goes to waiting.
-- The answer also says what became of what was looked at and not taken.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
-- How many deliveries without an ordering key may be taken: what the limit of the fleet and the lanes that were won
-- leave. Where there is no other limit, a permit is for several deliveries, of which the worker runs one at a time.
free AS MATERIALIZED (
    SELECT lanes.won, $18::integer IS NOT NULL AND $19::integer IS NULL AS is_shared,
           greatest(least(
               $11::bigint,
               -- Nobody counts what is used where the fleet has no limit.
               CASE WHEN $18 IS NOT NULL THEN $18 - inbox.permits_used(first.key) END,
               -- No more than the worker runs at once.
               CASE WHEN $18 IS NOT NULL AND $19 IS NULL THEN $12::bigint END
           ) - lanes.won, 0) AS permits
    FROM first, (SELECT count(*) AS won FROM inbox.lane WHERE lease_id = $2) AS lanes
),
room AS MATERIALIZED (
    SELECT CASE WHEN is_shared THEN permits END::integer AS permits,
           CASE WHEN is_shared THEN least($11 - won, permits * $13::bigint) ELSE permits END AS deliveries
    FROM free
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($5::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($6::smallint[], $7::integer[], $8::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $4  AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($20)
            ORDER BY seq
            LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
            FOR UPDATE SKIP LOCKED
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
    ) AS one
    LIMIT (SELECT CASE WHEN $19 IS NOT NULL THEN $10::bigint ELSE deliveries END FROM room)
),
-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
used AS MATERIALIZED (
    SELECT one.tenant, one.concurrency_key, used.permits
    FROM first
    CROSS JOIN (
        SELECT DISTINCT tenant, concurrency_key FROM found WHERE concurrency_key IS NOT NULL AND $19 IS NOT NULL
    ) AS one
    CROSS JOIN LATERAL inbox.permits_used(first.key, one.tenant, one.concurrency_key) AS used
),
-- What is used and what was found of a key side by side, and no join, which would compare each with each.
ranked AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT row, tenant, concurrency_key, turn,
               coalesce(sum(permits) OVER (PARTITION BY tenant, concurrency_key), 0) AS held,
               row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY turn) AS nth_of_key
        FROM (
            SELECT row, tenant, concurrency_key, ARRAY[array_position($5::smallint[], level), seq] AS turn,
                   NULL AS permits
            FROM found
            UNION ALL
            SELECT NULL, tenant, concurrency_key, NULL, permits FROM used
        ) AS one
    ) AS one
    WHERE row IS NOT NULL
),
by_key AS MATERIALIZED (
    SELECT row, row_number() OVER (ORDER BY turn) AS nth
    FROM ranked
    WHERE $19 IS NULL OR concurrency_key IS NULL OR nth_of_key <= $19 - held
),
granted AS MATERIALIZED (
    SELECT row
    FROM by_key
    WHERE nth <= (SELECT deliveries FROM room)
),
-- Only behind one that is held: whoever ends that wakes it.
crowded AS MATERIALIZED (
    SELECT row
    FROM ranked
    WHERE row NOT IN (SELECT row FROM by_key)
      AND (held > 0 OR (tenant, concurrency_key) IN (
          SELECT tenant, concurrency_key FROM ranked JOIN granted USING (row)
      ))
),
moved AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM crowded)) RETURNING *
),
put_behind AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, clock.now, 'limit', first.key
    FROM clock, first, moved
),
taken AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM granted)) RETURNING *
),
leased AS (
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $2, $3::text, $4, count(*) = 1 AND min(crashes) >= 2, $14::integer,
           min(clock.now) + $15::interval, (SELECT permits FROM room)
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO inbox.held (
        message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts + 1, crashes, carry, $2, clock.now, $16::boolean, $17::boolean,
           first.key
    FROM clock, first, taken
),
answer AS MATERIALIZED (
    SELECT seq, level, version, attempts + 1 AS attempt, crashes, carry::text, handler_key, message_id, 'taken' AS fate
    FROM taken
    UNION ALL
    SELECT seq, level, version, NULL, NULL, NULL, NULL, NULL, CASE
               WHEN row IN (SELECT row FROM crowded) THEN 'moved'
               -- The fleet has no room for it, and need not be asked again until it has.
               ELSE 'full'
           END
    FROM found
    WHERE row NOT IN (SELECT row FROM granted)
)
SELECT $2::uuid AS claim, clock.now, taken.seq, taken.level, taken.version, taken.attempt, taken.crashes,
       taken.carry, taken.handler_key, taken.message_id, message.*, (
    SELECT true
    FROM unnest($6::smallint[], $7::integer[], $9::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM inbox.ready
        WHERE handler_key = $4 AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes, taken.fate,
       (SELECT permits FROM room) AS permits
FROM clock
LEFT JOIN answer AS taken ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM inbox.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON taken.fate = 'taken';

-- statement: lane_win_tenants_and_none(now, lease, handler_key, levels, scan_levels, scan_versions, scan_lows, lane_lows, window, limit, lanes, fleet, tenants)
-- lanes → this lease, of which lane_take.sql takes the deliveries: at most $11, and of those only lanes whose
-- turn comes before $10 deliveries that have no ordering key. Answers what has an ordering key and was looked at.
--
-- A lane is won by whoever inserts its row, or finds it without a holder or held by a delivery that is ready. One
-- that is changing hands is left.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $3 LIMIT 1
    ), $3) AS key
),
-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $7::bigint[])
            AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3  AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($13)
            ORDER BY seq
            LIMIT $10
            
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $10
    ) AS one
    LIMIT $10
),
-- What has an ordering key, in the same order. Not locked: nobody holds a row while it waits for a lane.
queued AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $8::bigint[]) AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3  AND ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($13)
            ORDER BY seq
            LIMIT $9::bigint
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $9::bigint
    ) AS one
    LIMIT $9::bigint
),
seen AS MATERIALIZED (
    SELECT tenant, ordering_key, min(ARRAY[array_position($4::smallint[], level), seq]) AS turn
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
            SELECT lease_id, message_id, head_key, mark FROM inbox.lane WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key LIMIT 1
        ) AS lane ON true
        WHERE lane.lease_id IS NULL AND (
            lane.message_id IS NULL
            OR (lane.message_id, lane.head_key) IN (SELECT queued.message_id, $3 FROM queued)
        )
    ) AS free
    LIMIT CASE WHEN $12::integer IS NULL THEN $11::bigint ELSE least($11, greatest(
        $12 - (SELECT inbox.permits_used(first.key) FROM first), 0)) END
),
fit AS MATERIALIZED (
    SELECT turn, tenant, ordering_key, is_new FROM lane
    UNION ALL
    SELECT ARRAY[array_position($4::smallint[], level), seq], NULL, NULL, NULL FROM found
    ORDER BY turn
    LIMIT $10::bigint
),
-- In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, lease_id, since)
    SELECT first.key, fit.tenant, fit.ordering_key, $2, clock.now
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
        FROM inbox.lane
        WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key AND lease_id IS NULL
          AND (message_id IS NULL OR (message_id, head_key) IN (SELECT queued.message_id, $3 FROM queued))
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lane
    WHERE NOT seen.is_new
),
entered AS (
    UPDATE inbox.lane AS lane
    SET lease_id = $2, message_id = NULL, head_key = NULL, since = clock.now
    FROM clock, open
    WHERE lane.ctid = open.row
)
SELECT $2::uuid AS claim, queued.seq, queued.level, queued.version,
       (tenant, ordering_key) IN (SELECT tenant, ordering_key FROM lane) AS is_free, tenant, ordering_key
FROM clock
LEFT JOIN queued ON true;

-- statement: lane_behind_tenants_and_none(now, lease, handler_key, levels, scan_levels, scan_versions, lane_lows, window, limit, lanes, tenants)
-- ready → waiting, for what is met behind a lane that somebody holds, where that keeps a claim from finding enough:
-- the next ones get at what comes after it. Under a lock that whoever ends the run takes too, so that nobody is left
-- behind. Answers what was looked at.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM inbox.route AS route WHERE route.handler_key = $3 LIMIT 1
    ), $3) AS key
),
-- What has an ordering key, in the same order. Not locked: nobody holds a row while it waits for a lane.
queued AS MATERIALIZED (
    SELECT one.*
    FROM unnest($4::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($5::smallint[], $6::integer[], $7::bigint[]) AS scan (level, version, low) 
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key
            FROM inbox.ready AS ready
            WHERE handler_key = $3  AND ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low AND tenant = ANY ($11)
            ORDER BY seq
            LIMIT $8::bigint
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $8::bigint
    ) AS one
    LIMIT $8::bigint
),
lane AS MATERIALIZED (
    SELECT lane.*
    FROM (SELECT DISTINCT tenant, ordering_key FROM queued) AS seen
    CROSS JOIN LATERAL (
        SELECT tenant, ordering_key, message_id, head_key
        FROM inbox.lane
        WHERE handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key AND num_nonnulls(lease_id, message_id) > 0
        LIMIT 1
        FOR SHARE SKIP LOCKED
    ) AS lane
),
-- Enough are as many deliveries as were wanted, less what is left over where lanes share them; or as many lanes.
enough AS MATERIALIZED (
    SELECT won.count >= $10::bigint OR won.count + held.count > $9::bigint OR held.count >= $9 AS are_found
    FROM (SELECT count(*) FROM inbox.lane WHERE lease_id = $2) AS won,
         (SELECT count(*) FROM inbox.held WHERE lease_id = $2) AS held
),
behind AS MATERIALIZED (
    SELECT row
    FROM queued
    WHERE NOT (SELECT are_found FROM enough)
      AND (tenant, ordering_key) IN (SELECT tenant, ordering_key FROM lane)
      AND message_id NOT IN (
          SELECT message_id FROM lane WHERE head_key = $3 AND message_id IS NOT NULL
      )
),
moved AS (
    DELETE FROM inbox.ready WHERE ctid = ANY (ARRAY(SELECT row FROM behind)) RETURNING *
),
put_behind AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry, clock.now, 'lane', first.key
    FROM clock, first, moved
)
SELECT $2::uuid AS claim, queued.seq, queued.level, queued.version,
       queued.row IN (SELECT row FROM behind) AS is_moved
FROM clock
LEFT JOIN queued ON true;

-- statement: settle_done()
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

-- statement: settle()
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
           NOT one.cancelled AND (asked.place = 'waiting' OR asked.place = 'dead' AND held.blocks) AS blocks_lane,
           -- What was not tried after all gives its attempt back.
           held.attempt - (asked.place = 'ready' OR asked.word IS NOT DISTINCT FROM 'orphaned')::integer AS attempts
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
-- The lanes of those that do not come to an end: the first that blocks its lane is the next holder.
stays AS MATERIALIZED (
    SELECT DISTINCT ON (lane.row) lane.row, mine.message_id, mine.handler_key
    FROM mine
    CROSS JOIN LATERAL (
        SELECT ctid AS row, lease_id, message_id
        FROM inbox.lane AS lane
        WHERE lane.handler_key = mine.first_key AND lane.tenant = mine.tenant
          AND lane.ordering_key = mine.ordering_key
        LIMIT 1
    ) AS lane
    -- Not one that came later in a run, if its worker settles it all the same.
    WHERE mine.blocks_lane AND lane.lease_id = mine.lease_id AND lane.message_id IS NULL
    ORDER BY lane.row, mine.position
),
kept AS (
    UPDATE inbox.lane AS lane
    SET message_id = stays.message_id, head_key = stays.handler_key, since = clock.now
    FROM clock, stays
    WHERE lane.ctid = stays.row
),
done AS (
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempts, greatest(clock.now - leased_at, interval '0'), clock.now
    FROM clock, mine
    WHERE place = 'done'
),
waiting AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, carry, due_at, reason, error)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, carried, clock.now + after, 'retry', error
    FROM clock, mine
    WHERE place = 'waiting'
    ON CONFLICT DO NOTHING
),
dead AS (
    INSERT INTO inbox.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks, position
    )
    SELECT message_id, handler_key, version, priority, attempts, word, error_type, error, clock.now, blocks, position
    FROM clock, mine
    WHERE place = 'dead'
    ON CONFLICT DO NOTHING
),
returned AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
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
    WHERE wished IN ('waiting', 'dead') AND word IS DISTINCT FROM 'orphaned'
    ORDER BY nth
)
SELECT nth, cancelled FROM mine;

-- statement: settle_done_within()
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
UNION ALL SELECT NULL, inbox.must_settle((SELECT count(*) FROM mine), $5, $6) IS NULL;

-- statement: settle_within()
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
           NOT one.cancelled AND (asked.place = 'waiting' OR asked.place = 'dead' AND held.blocks) AS blocks_lane,
           -- What was not tried after all gives its attempt back.
           held.attempt - (asked.place = 'ready' OR asked.word IS NOT DISTINCT FROM 'orphaned')::integer AS attempts
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
-- The lanes of those that do not come to an end: the first that blocks its lane is the next holder.
stays AS MATERIALIZED (
    SELECT DISTINCT ON (lane.row) lane.row, mine.message_id, mine.handler_key
    FROM mine
    CROSS JOIN LATERAL (
        SELECT ctid AS row, lease_id, message_id
        FROM inbox.lane AS lane
        WHERE lane.handler_key = mine.first_key AND lane.tenant = mine.tenant
          AND lane.ordering_key = mine.ordering_key
        LIMIT 1
    ) AS lane
    -- Not one that came later in a run, if its worker settles it all the same.
    WHERE mine.blocks_lane AND lane.lease_id = mine.lease_id AND lane.message_id IS NULL
    ORDER BY lane.row, mine.position
),
kept AS (
    UPDATE inbox.lane AS lane
    SET message_id = stays.message_id, head_key = stays.handler_key, since = clock.now
    FROM clock, stays
    WHERE lane.ctid = stays.row
),
done AS (
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT message_id, handler_key, word, attempts, greatest(clock.now - leased_at, interval '0'), clock.now
    FROM clock, mine
    WHERE place = 'done'
),
waiting AS (
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, carry, due_at, reason, error)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, carried, clock.now + after, 'retry', error
    FROM clock, mine
    WHERE place = 'waiting'
    ON CONFLICT DO NOTHING
),
dead AS (
    INSERT INTO inbox.dead (
        message_id, handler_key, version, priority, attempts, reason, error_type, error, dead_at, blocks, position
    )
    SELECT message_id, handler_key, version, priority, attempts, word, error_type, error, clock.now, blocks, position
    FROM clock, mine
    WHERE place = 'dead'
    ON CONFLICT DO NOTHING
),
returned AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
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
    WHERE wished IN ('waiting', 'dead') AND word IS DISTINCT FROM 'orphaned'
    ORDER BY nth
)
SELECT nth, cancelled FROM mine
UNION ALL SELECT NULL, inbox.must_settle((SELECT count(*) FROM mine), $11, $12) IS NULL;

-- statement: lane_end_held()
-- Hands on the lanes among these whose run is over: to the delivery that is in the way or, if there is none, to
-- whoever claims the next one, which is ready then, under a fresh number where it waited. Where there is none, the
-- lane ends. The lanes were locked before, by a statement of its own. Answers how many have a next one.
WITH lane AS MATERIALIZED (
    SELECT lane.*
    FROM jsonb_to_recordset(current_setting('inbox.lanes')::jsonb) AS name (first_key text, tenant text, ordering_key text)
    CROSS JOIN LATERAL (
        SELECT lane.ctid AS row, lane.*
        FROM inbox.lane AS lane
        WHERE lane.handler_key = name.first_key AND lane.tenant = name.tenant
          AND lane.ordering_key = name.ordering_key
        LIMIT 1
    ) AS lane
),
state AS MATERIALIZED (
    SELECT lane.*, lane.lease_id IS NOT NULL AND (
        SELECT true
        FROM inbox.held AS held
        WHERE held.lease_id = lane.lease_id AND held.tenant = lane.tenant
          AND held.ordering_key = lane.ordering_key AND held.ordering_key IS NOT NULL
        LIMIT 1
    ) IS NOT NULL AS runs,
    lane.message_id IS NOT NULL AND coalesce((
        SELECT true FROM inbox.ready AS ready
        WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
        LIMIT 1
    ), (
        SELECT true FROM inbox.waiting AS waiting
        WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
          AND waiting.reason NOT IN ('lane', 'delay')
        LIMIT 1
    ), (
        SELECT true FROM inbox.dead AS dead
        WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key AND dead.blocks
        LIMIT 1
    )) IS NOT NULL AS has_head
    FROM lane
),
-- A mark is safe when all transactions that were older when it was noted have ended, and nothing of the lane waits
-- for a route: either may bring a delivery with an older position.
over AS MATERIALIZED (
    SELECT state.row AS lane, next.*, state.later_xid <= pg_snapshot_xmin(pg_current_snapshot()) AND (
               SELECT true
               FROM inbox.route AS route
               CROSS JOIN LATERAL (
                   SELECT 1
                   FROM inbox.waiting AS waiting
                   WHERE waiting.handler_key = '' AND waiting.contract = route.contract
                     AND waiting.tenant = state.tenant AND waiting.ordering_key = state.ordering_key
                   LIMIT 1
               ) AS unrouted
               WHERE state.handler_key IN (route.handler_key, route.first_key)
               LIMIT 1
           ) IS NULL AS may_advance
    FROM state
    LEFT JOIN LATERAL inbox.lane_next(state.handler_key, state.tenant, state.ordering_key, state.mark, 1) AS next
        ON true
    WHERE NOT state.runs AND NOT state.has_head
),
next AS MATERIALIZED (
    SELECT place AS row FROM over WHERE waits
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
),
handed_on AS (
    UPDATE inbox.lane AS lane
    SET lease_id = NULL, message_id = NULL, head_key = NULL, since = coalesce($1::timestamptz, clock_timestamp()),
        mark = CASE WHEN may_advance THEN least(lane.later_mark, over.position) ELSE lane.mark END,
        later_mark = CASE WHEN may_advance OR lane.later_mark IS NULL THEN over.position ELSE lane.later_mark END,
        later_xid = CASE
            WHEN may_advance OR lane.later_mark IS NULL THEN NULL
            ELSE coalesce(lane.later_xid, pg_current_xact_id())
        END
    FROM over
    WHERE lane.ctid = over.lane AND over.position IS NOT NULL
),
left_to_head AS (
    UPDATE inbox.lane SET lease_id = NULL
    WHERE ctid = ANY (ARRAY(SELECT row FROM state WHERE lease_id IS NOT NULL AND NOT runs AND has_head))
),
ended AS (
    DELETE FROM inbox.lane WHERE ctid = ANY (ARRAY(SELECT lane FROM over WHERE position IS NULL))
)
SELECT count(*) FROM over WHERE position IS NOT NULL;

-- statement: lane_end()
-- Hands on the lanes among these whose run is over: to the delivery that is in the way or, if there is none, to
-- whoever claims the next one, which is ready then, under a fresh number where it waited. Where there is none, the
-- lane ends. The lanes were locked before, by a statement of its own. Answers how many have a next one.
WITH lane AS MATERIALIZED (
    SELECT lane.*
    FROM (SELECT DISTINCT * FROM unnest($2::text[], $3::text[], $4::text[])) AS name (first_key, tenant, ordering_key)
    CROSS JOIN LATERAL (
        SELECT lane.ctid AS row, lane.*
        FROM inbox.lane AS lane
        WHERE lane.handler_key = name.first_key AND lane.tenant = name.tenant
          AND lane.ordering_key = name.ordering_key
        LIMIT 1
    ) AS lane
),
state AS MATERIALIZED (
    SELECT lane.*, lane.lease_id IS NOT NULL AND (
        SELECT true
        FROM inbox.held AS held
        WHERE held.lease_id = lane.lease_id AND held.tenant = lane.tenant
          AND held.ordering_key = lane.ordering_key AND held.ordering_key IS NOT NULL
        LIMIT 1
    ) IS NOT NULL AS runs,
    lane.message_id IS NOT NULL AND coalesce((
        SELECT true FROM inbox.ready AS ready
        WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
        LIMIT 1
    ), (
        SELECT true FROM inbox.waiting AS waiting
        WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
          AND waiting.reason NOT IN ('lane', 'delay')
        LIMIT 1
    ), (
        SELECT true FROM inbox.dead AS dead
        WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key AND dead.blocks
        LIMIT 1
    )) IS NOT NULL AS has_head
    FROM lane
),
-- A mark is safe when all transactions that were older when it was noted have ended, and nothing of the lane waits
-- for a route: either may bring a delivery with an older position.
over AS MATERIALIZED (
    SELECT state.row AS lane, next.*, state.later_xid <= pg_snapshot_xmin(pg_current_snapshot()) AND (
               SELECT true
               FROM inbox.route AS route
               CROSS JOIN LATERAL (
                   SELECT 1
                   FROM inbox.waiting AS waiting
                   WHERE waiting.handler_key = '' AND waiting.contract = route.contract
                     AND waiting.tenant = state.tenant AND waiting.ordering_key = state.ordering_key
                   LIMIT 1
               ) AS unrouted
               WHERE state.handler_key IN (route.handler_key, route.first_key)
               LIMIT 1
           ) IS NULL AS may_advance
    FROM state
    LEFT JOIN LATERAL inbox.lane_next(state.handler_key, state.tenant, state.ordering_key, state.mark, 1) AS next
        ON true
    WHERE NOT state.runs AND NOT state.has_head
),
next AS MATERIALIZED (
    SELECT place AS row FROM over WHERE waits
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
),
handed_on AS (
    UPDATE inbox.lane AS lane
    SET lease_id = NULL, message_id = NULL, head_key = NULL, since = coalesce($1::timestamptz, clock_timestamp()),
        mark = CASE WHEN may_advance THEN least(lane.later_mark, over.position) ELSE lane.mark END,
        later_mark = CASE WHEN may_advance OR lane.later_mark IS NULL THEN over.position ELSE lane.later_mark END,
        later_xid = CASE
            WHEN may_advance OR lane.later_mark IS NULL THEN NULL
            ELSE coalesce(lane.later_xid, NULL)
        END
    FROM over
    WHERE lane.ctid = over.lane AND over.position IS NOT NULL
),
left_to_head AS (
    UPDATE inbox.lane SET lease_id = NULL
    WHERE ctid = ANY (ARRAY(SELECT row FROM state WHERE lease_id IS NOT NULL AND NOT runs AND has_head))
),
ended AS (
    DELETE FROM inbox.lane WHERE ctid = ANY (ARRAY(SELECT lane FROM over WHERE position IS NULL))
)
SELECT count(*) FROM over WHERE position IS NOT NULL;

-- statement: limit_share_held()
-- Keeps claims of handlers with limits from being made until what follows is committed: who is put behind a key
-- meanwhile is seen by the statement that wakes them. Nobody is put behind the limit of the fleet.
SELECT 1
FROM inbox.route AS guard
WHERE guard.handler_key = ANY (ARRAY(
    SELECT DISTINCT freed.first_key FROM (
    -- Of a run, what ends together is one.
    SELECT DISTINCT held.first_key, held.tenant, held.concurrency_key, asked.lease_id, held.ordering_key,
           CASE WHEN held.ordering_key IS NULL THEN asked.message_id END
    FROM unnest($1::uuid[], $2::uuid[]) AS asked (lease_id, message_id)
    CROSS JOIN LATERAL (
        SELECT held.first_key, held.tenant, held.ordering_key, held.concurrency_key, held.limited
        FROM inbox.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
    ) AS held
    WHERE held.limited OR held.concurrency_key IS NOT NULL
) AS freed WHERE freed.concurrency_key IS NOT NULL
))
ORDER BY guard.contract, guard.handler_key
FOR SHARE;

-- statement: limit_share_keys()
-- Keeps claims of handlers with limits from being made until what follows is committed: who is put behind a key
-- meanwhile is seen by the statement that wakes them. Nobody is put behind the limit of the fleet.
SELECT 1
FROM inbox.route AS guard
WHERE guard.handler_key = ANY (ARRAY(
    SELECT DISTINCT freed.first_key FROM (
    SELECT * FROM unnest($1::text[]) AS given (first_key)
) AS freed 
))
ORDER BY guard.contract, guard.handler_key
FOR SHARE;

-- statement: limit_share_message()
-- Keeps claims of handlers with limits from being made until what follows is committed: who is put behind a key
-- meanwhile is seen by the statement that wakes them. Nobody is put behind the limit of the fleet.
SELECT 1
FROM inbox.route AS guard
WHERE guard.handler_key = ANY (ARRAY(
    SELECT DISTINCT freed.first_key FROM (
    SELECT DISTINCT coalesce(nullif(route.first_key, ''), route.handler_key) AS first_key, message.tenant,
           message.concurrency_key
    FROM inbox.message AS message
    JOIN inbox.route AS route ON route.contract = message.contract
    WHERE message.id = ANY ($1::uuid[]) AND message.concurrency_key IS NOT NULL
) AS freed WHERE freed.concurrency_key IS NOT NULL
))
ORDER BY guard.contract, guard.handler_key
FOR SHARE;

-- statement: limit_wake_held()
-- waiting → ready, for as many of each concurrency key as others of it end. Answers how many ended, of whatever
-- key: the fleet has room for them.
WITH freed AS MATERIALIZED (
    SELECT freed.first_key, freed.tenant, freed.concurrency_key, count(*) AS permits
    FROM (
    -- Of a run, what ends together is one.
    SELECT DISTINCT held.first_key, held.tenant, held.concurrency_key, asked.lease_id, held.ordering_key,
           CASE WHEN held.ordering_key IS NULL THEN asked.message_id END
    FROM unnest($1::uuid[], $2::uuid[]) AS asked (lease_id, message_id)
    CROSS JOIN LATERAL (
        SELECT held.first_key, held.tenant, held.ordering_key, held.concurrency_key, held.limited
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
        ORDER BY waiting.position
        LIMIT freed.permits
        FOR UPDATE SKIP LOCKED
    ) AS waiting
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
)
SELECT coalesce(sum(permits), 0)::bigint FROM freed;

-- statement: limit_wake_keys()
-- waiting → ready, for as many of each concurrency key as others of it end. Answers how many ended, of whatever
-- key: the fleet has room for them.
WITH freed AS MATERIALIZED (
    SELECT freed.first_key, freed.tenant, freed.concurrency_key, count(*) AS permits
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
        ORDER BY waiting.position
        LIMIT freed.permits
        FOR UPDATE SKIP LOCKED
    ) AS waiting
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
)
SELECT coalesce(sum(permits), 0)::bigint FROM freed;

-- statement: limit_wake_message()
-- waiting → ready, for as many of each concurrency key as others of it end. Answers how many ended, of whatever
-- key: the fleet has room for them.
WITH freed AS MATERIALIZED (
    SELECT freed.first_key, freed.tenant, freed.concurrency_key, count(*) AS permits
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
        ORDER BY waiting.position
        LIMIT freed.permits
        FOR UPDATE SKIP LOCKED
    ) AS waiting
),
woken AS (
    DELETE FROM inbox.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO inbox.ready (message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry)
    SELECT message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
)
SELECT coalesce(sum(permits), 0)::bigint FROM freed;

