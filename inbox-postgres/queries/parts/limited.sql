-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
used AS MATERIALIZED (
    SELECT one.tenant, one.concurrency_key, used.permits
    FROM first
    CROSS JOIN (
        SELECT DISTINCT tenant, concurrency_key FROM found WHERE concurrency_key IS NOT NULL AND $per_key IS NOT NULL
    ) AS one
    CROSS JOIN LATERAL :schema.permits_used(first.key, one.tenant, one.concurrency_key) AS used
),
-- What is used and what was found of a key side by side, and no join, which would compare each with each.
ranked AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT row, tenant, concurrency_key, turn,
               coalesce(sum(permits) OVER (PARTITION BY tenant, concurrency_key), 0) AS held,
               row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY turn) AS nth_of_key
        FROM (
            SELECT row, tenant, concurrency_key, ARRAY[array_position($levels::smallint[], level), seq] AS turn,
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
    WHERE $per_key IS NULL OR concurrency_key IS NULL OR nth_of_key <= $per_key - held
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
    DELETE FROM :schema.ready WHERE ctid = ANY (ARRAY(SELECT row FROM crowded)) RETURNING *
),
put_behind AS (
    INSERT INTO :schema.waiting ({{delivery}}, position, attempts, crashes, carry, due_at, reason, first_key)
    SELECT {{delivery}}, position, attempts, crashes, carry, clock.now, 'limit', first.key
    FROM clock, first, moved
)
