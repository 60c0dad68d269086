-- ready → lease, for one suspect, if this host holds none: of all that this worker can read, the one
-- that has been ready for longest, of some tenants or of all. Where two calls of one host meet, an index refuses the second.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
chosen AS MATERIALIZED (
    SELECT ready.ctid AS row, wanted.max_attempts
    FROM :schema.ready AS ready
    -- For each suspect, and not for each key, which would walk over all that is ready.
    CROSS JOIN LATERAL (
        SELECT wanted.max_attempts
        FROM unnest($4::text[], $5::integer[], $6::integer[])
            AS wanted (handler_key, version, max_attempts)
        WHERE wanted.handler_key = ready.handler_key AND wanted.version = ready.version
        LIMIT 1
    ) AS wanted
    WHERE ready.suspect AND ($8::text[] IS NULL OR ready.tenant = ANY ($8)) AND NOT EXISTS (
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
              delayed_retries
),
held AS (
    INSERT INTO :schema.lease (
        token, host, handler_key, suspect, max_attempts, leased_at, expires_at, message_ids,
        versions, priorities, attempts, delayed_retries, open, cancel
    )
    SELECT $2::uuid, $3::text, taken.handler_key, true, chosen.max_attempts, clock.now,
           clock.now + $7::interval, ARRAY[taken.message_id], ARRAY[taken.version],
           ARRAY[taken.priority], ARRAY[taken.attempt], ARRAY[taken.delayed_retries], B'1', B'0'
    FROM clock, chosen, taken
    RETURNING handler_key, leased_at, expires_at
)
SELECT held.leased_at, held.expires_at, taken.seq, taken.priority, taken.message_id, taken.attempt,
       taken.delayed_retries, held.handler_key, message.*
FROM held
CROSS JOIN taken
LEFT JOIN LATERAL (
    SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM :schema.message
    WHERE id = taken.message_id
    LIMIT 1
) AS message ON true
