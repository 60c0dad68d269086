leased AS (
    INSERT INTO :schema.lease (id, host, handler_key, alone, max_crashes, expires_at, permits)
    SELECT $lease, $host::text, $handler_key, count(*) = 1 AND min(crashes) >= 2, $max_crashes::integer,
           min(clock.now) + $duration::interval, {{permits}}
    FROM clock, taken
    HAVING count(*) > 0
    -- Another statement of this claim took something too.
    ON CONFLICT (id) DO UPDATE SET alone = false
),
held AS (
    INSERT INTO :schema.held (
        {{delivery}}, position, attempt, crashes, carry, lease_id, leased_at, limited, blocks, first_key
    )
    SELECT {{delivery}}, position, attempts + 1, crashes, carry, $lease, clock.now, $limited::boolean, $blocks::boolean,
           first.key
    FROM clock, first, taken
)
