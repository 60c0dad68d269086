-- Marks keys under which something is ready and that no live host serves, and answers those whose grace
-- is over, with the keys that are served. The time in which nobody looked does not count.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
live AS MATERIALIZED (
    SELECT host.serves
    FROM clock, :schema.host AS host
    WHERE host.seen_at + $2::interval > clock.now
),
served AS MATERIALIZED (
    SELECT DISTINCT key.handler_key COLLATE "C" AS handler_key
    FROM live
    CROSS JOIN LATERAL jsonb_object_keys(live.serves) AS key (handler_key)
),
-- Deliveries are made through routes, which are few: to ask each costs less than to walk what is ready.
unserved AS MATERIALIZED (
    SELECT DISTINCT route.handler_key COLLATE "C" AS handler_key
    FROM :schema.route AS route
    WHERE EXISTS (SELECT 1 FROM live)
      AND NOT EXISTS (SELECT 1 FROM served WHERE served.handler_key = route.handler_key)
      -- The first of each by the index, and no join, which may read all that is ready.
      AND (
          SELECT true
          FROM :schema.ready AS ready
          WHERE ready.handler_key = route.handler_key
          ORDER BY ready.ordered, ready.level, ready.version, ready.seq
          LIMIT 1
      )
),
marked AS (
    INSERT INTO :schema.orphan AS orphan (handler_key, since, seen_at)
    SELECT unserved.handler_key, clock.now, clock.now
    FROM clock, unserved
    ORDER BY unserved.handler_key
    ON CONFLICT (handler_key) DO UPDATE
    SET since = CASE
            WHEN orphan.seen_at + $2::interval < excluded.seen_at
            THEN orphan.since + (excluded.seen_at - orphan.seen_at)
            ELSE orphan.since
        END,
        seen_at = greatest(orphan.seen_at, excluded.seen_at)
    RETURNING orphan.handler_key, orphan.since
)
SELECT marked.handler_key, ARRAY(SELECT handler_key FROM served ORDER BY handler_key)
FROM clock, marked
WHERE marked.since + $3::interval <= clock.now
ORDER BY marked.handler_key COLLATE "C"
