-- ready → lease, for one suspect, if this host holds none: of all that this worker can read, the one
-- that has been ready for longest, of some tenants or of all. Where two calls of one host meet, an index
-- refuses the second. One with an ordering key is the head of its lane, or becomes so if nobody is in it. The
-- answer is one row that names the claim, with the delivery if there is one.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
chosen AS MATERIALIZED (
    SELECT ready.ctid AS row, wanted.max_attempts, wanted.blocks, first.key AS lane,
           lane.message_id AS head, of_fleet.n AS fleet_unit, of_key.n AS key_unit
    FROM :schema.ready AS ready
    -- For each suspect, and not for each key, which would walk over all that is ready.
    CROSS JOIN LATERAL (
        SELECT wanted.max_attempts, wanted.blocks, wanted.fleet, wanted.per_key
        FROM unnest($4::text[], $5::integer[], $6::integer[], $9::boolean[], $10::integer[], $11::integer[])
            AS wanted (handler_key, version, max_attempts, blocks, fleet, per_key)
        WHERE wanted.handler_key = ready.handler_key AND wanted.version = ready.version
        LIMIT 1
    ) AS wanted
    CROSS JOIN LATERAL (
        SELECT coalesce((
            SELECT nullif(route.first_key, '')
            FROM :schema.route AS route
            WHERE route.handler_key = ready.handler_key
            LIMIT 1
        ), ready.handler_key) AS key
    ) AS first
    LEFT JOIN LATERAL (
        SELECT lane.message_id, lane.head_key
        FROM :schema.lane AS lane
        WHERE lane.handler_key = first.key AND lane.tenant = ready.tenant
          AND lane.ordering_key = ready.ordering_key
        LIMIT 1
    ) AS lane ON true
    -- The lowest unit that is free, if it is limited and there is room.
    LEFT JOIN LATERAL (
        SELECT number.n
        FROM (
            SELECT count(*)::integer AS units FROM :schema.slot AS slot
            WHERE slot.handler_key = first.key AND slot.tenant = '' AND slot.concurrency_key = ''
        ) AS taken
        CROSS JOIN LATERAL generate_series(1, taken.units + 1) AS number (n)
        LEFT JOIN :schema.slot AS slot
            ON slot.handler_key = first.key AND slot.tenant = '' AND slot.concurrency_key = ''
           AND slot.n = number.n
        WHERE slot.n IS NULL AND wanted.fleet > taken.units
        ORDER BY number.n
        LIMIT 1
    ) AS of_fleet ON true
    LEFT JOIN LATERAL (
        SELECT number.n
        FROM (
            SELECT count(*)::integer AS units FROM :schema.slot AS slot
            WHERE slot.handler_key = first.key AND slot.tenant = ready.tenant
              AND slot.concurrency_key = ready.concurrency_key
        ) AS taken
        CROSS JOIN LATERAL generate_series(1, taken.units + 1) AS number (n)
        LEFT JOIN :schema.slot AS slot
            ON slot.handler_key = first.key AND slot.tenant = ready.tenant
           AND slot.concurrency_key = ready.concurrency_key AND slot.n = number.n
        WHERE slot.n IS NULL AND ready.concurrency_key IS NOT NULL AND wanted.per_key > taken.units
        ORDER BY number.n
        LIMIT 1
    ) AS of_key ON true
    WHERE ready.suspect
      AND (wanted.fleet IS NULL OR of_fleet.n IS NOT NULL)
      AND (wanted.per_key IS NULL OR ready.concurrency_key IS NULL OR of_key.n IS NOT NULL)
      AND (lane.message_id IS NULL OR (lane.message_id = ready.message_id AND lane.head_key = ready.handler_key))
      AND ($8::text[] IS NULL OR ready.tenant = ANY ($8)) AND NOT EXISTS (
        SELECT 1
        FROM :schema.lease AS lease
        WHERE lease.host = $3 AND lease.suspect
    )
    ORDER BY ready.seq
    LIMIT 1
    FOR UPDATE OF ready SKIP LOCKED
),
taken AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM chosen))
    RETURNING handler_key, seq, priority, version, message_id, attempts + 1 AS attempt,
              delayed_retries, tenant, ordering_key, concurrency_key
),
units AS (
    INSERT INTO :schema.slot (handler_key, tenant, concurrency_key, n, token, message_id, since)
    SELECT chosen.lane, unit.tenant, unit.concurrency_key, unit.n, $2, taken.message_id, clock.now
    FROM clock, chosen, taken
    CROSS JOIN LATERAL (
        VALUES (taken.tenant, taken.concurrency_key, chosen.key_unit), ('', '', chosen.fleet_unit)
    ) AS unit (tenant, concurrency_key, n)
    WHERE unit.n IS NOT NULL
),
laned AS (
    INSERT INTO :schema.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT chosen.lane, taken.tenant, taken.ordering_key, taken.message_id, taken.handler_key, clock.now
    FROM clock, chosen, taken
    WHERE taken.ordering_key IS NOT NULL AND chosen.head IS NULL
),
held AS (
    INSERT INTO :schema.lease (
        token, host, handler_key, suspect, max_attempts, leased_at, expires_at, message_ids,
        versions, priorities, attempts, delayed_retries, open, cancel, blocks
    )
    SELECT $2::uuid, $3::text, taken.handler_key, true, chosen.max_attempts, clock.now,
           clock.now + $7::interval, ARRAY[taken.message_id], ARRAY[taken.version],
           ARRAY[taken.priority], ARRAY[taken.attempt], ARRAY[taken.delayed_retries], B'1', B'0',
           chosen.blocks
    FROM clock, chosen, taken
    RETURNING handler_key, leased_at
)
SELECT $2::uuid, held.leased_at, taken.seq, taken.priority, taken.attempt, taken.delayed_retries,
       taken.message_id, message.*, held.handler_key
FROM (VALUES (true)) AS claim (is_made)
LEFT JOIN (held CROSS JOIN taken) ON true
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM :schema.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
