-- A host is there, and none of its keys is one that nobody serves.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
-- In the order in which they are marked.
served AS MATERIALIZED (
    SELECT handler_key
    FROM :schema.orphan
    WHERE $3::jsonb ? handler_key
    ORDER BY handler_key COLLATE "C"
    FOR UPDATE
),
cleared AS (
    DELETE FROM :schema.orphan AS orphan USING served WHERE orphan.handler_key = served.handler_key
)
INSERT INTO :schema.host AS host (name, started_at, seen_at, serves)
SELECT $2, now, now, $3 FROM clock
ON CONFLICT (name) DO UPDATE
SET seen_at = excluded.seen_at, serves = excluded.serves
