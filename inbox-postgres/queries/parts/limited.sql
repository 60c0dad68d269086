-- Claims of a handler that is limited take turns, by a lock on its route that was taken before: so what is held
-- can be counted.
ranked AS MATERIALIZED (
    SELECT fit.*, row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY array_position($levels, level), seq)
               AS nth_of_key, $per_key::integer - (
               SELECT count(*)
               FROM :schema.held AS held
               WHERE held.limited AND held.first_key = (SELECT key FROM first) AND held.tenant = fit.tenant
                 AND held.concurrency_key = fit.concurrency_key
           ) AS room
    FROM fit
),
by_key AS MATERIALIZED (
    SELECT row, row_number() OVER (ORDER BY array_position($levels, level), seq) AS nth
    FROM ranked
    WHERE $per_key IS NULL OR concurrency_key IS NULL OR nth_of_key <= room
),
granted AS MATERIALIZED (
    SELECT row
    FROM by_key
    WHERE $fleet::integer IS NULL OR nth <= $fleet - (
        SELECT count(*) FROM :schema.held AS held WHERE held.limited AND held.first_key = (SELECT key FROM first)
    )
),
-- Only behind one that is held: whoever ends that wakes it.
crowded AS MATERIALIZED (
    SELECT row, message_id
    FROM ranked
    WHERE row NOT IN (SELECT row FROM by_key)
      AND (room < $per_key OR (tenant, concurrency_key) IN (
          SELECT tenant, concurrency_key FROM ranked JOIN granted USING (row)
      ))
)
