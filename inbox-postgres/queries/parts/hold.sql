leased AS (
    INSERT INTO :schema.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT $lease, $host::text, $handler_key, count(*) = 1 AND min(crashes) >= 2, $max_crashes::integer,
           min(clock.now) + $duration::interval
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO :schema.held (
        lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks, handler_key,
        first_key, tenant, ordering_key, concurrency_key, position, carry
    )
    SELECT $lease, message_id, clock.now, version, attempts + 1, crashes, priority, $limited::boolean,
           $blocks::boolean, handler_key, first.key, tenant, ordering_key, concurrency_key, position, carry
    FROM clock, first, taken
)
