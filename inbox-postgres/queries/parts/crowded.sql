-- Lanes whose next delivery exceeds the limit of its concurrency key: it waits for others to end, and keeps its lane.
crowded AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT *, coalesce(sum(permits) OVER (PARTITION BY tenant, concurrency_key), 0) AS held,
               row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY position) AS nth
        FROM (
            SELECT lane, place, waits, tenant, concurrency_key, position, NULL AS permits
            FROM stays WHERE is_first AND is_mine AND $per_key IS NOT NULL
            UNION ALL
            SELECT NULL, NULL, NULL, used.tenant, used.concurrency_key, NULL, used.permits
            FROM first CROSS JOIN LATERAL :schema.permits_of_keys(first.key) AS used
            WHERE $per_key IS NOT NULL
        ) AS one
    ) AS one
    WHERE lane IS NOT NULL AND concurrency_key IS NOT NULL AND nth > $per_key - held
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
