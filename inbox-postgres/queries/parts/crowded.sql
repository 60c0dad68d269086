-- Lanes whose next delivery exceeds the limit of its concurrency key: it waits for others to end, and keeps its lane.
crowded AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT *, row_number() OVER (PARTITION BY tenant, concurrency_key ORDER BY position) AS nth
        FROM stays WHERE is_first AND is_mine
    ) AS head
    WHERE concurrency_key IS NOT NULL
      AND nth > $per_key - :schema.permits_used((SELECT key FROM first), tenant, concurrency_key)
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
