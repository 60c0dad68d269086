-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
ranked AS MATERIALIZED (
    SELECT row, tenant, concurrency_key, turn,
           row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY turn) AS nth_of_key,
           CASE WHEN $per_key IS NOT NULL AND concurrency_key IS NOT NULL
                THEN :schema.permits_used((SELECT key FROM first), tenant, concurrency_key) END AS held
    FROM (SELECT found.*, ARRAY[array_position($levels::smallint[], level), seq] AS turn FROM found) AS found
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
