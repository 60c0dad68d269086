-- Lanes whose next delivery exceeds the limit of its concurrency key: it waits for others to end, and keeps its lane.
crowded AS MATERIALIZED (
    SELECT head.*
    FROM first
    CROSS JOIN (
        SELECT *, row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY position) AS nth
        FROM stays WHERE is_first AND is_mine
    ) AS head
    CROSS JOIN LATERAL :schema.permits_used(first.key, head.tenant, head.concurrency_key) AS used
    WHERE head.concurrency_key IS NOT NULL AND head.nth > $per_key - used.permits
),
parked AS (
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT place FROM crowded WHERE NOT waits)) RETURNING *
),
put_behind AS (
    INSERT INTO :schema.waiting ({{delivery}}, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT {{delivery}}, position, attempts, crashes, carry, clock.now, 'limit', first.key
    FROM clock, first, parked
),
put_aside AS (
    UPDATE :schema.waiting SET reason = 'limit'
    WHERE ctid = ANY (ARRAY(SELECT place FROM crowded WHERE waits))
)
