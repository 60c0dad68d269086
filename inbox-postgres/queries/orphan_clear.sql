-- Forgets hosts that nobody has heard of for long, and marks of keys that somebody serves or under which
-- nothing is ready. While no host is alive, marks stay: nobody would serve anything. What another one is
-- at is left to it.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
gone AS MATERIALIZED (
    SELECT host.name
    FROM clock, :schema.host AS host
    WHERE host.seen_at + $3::interval <= clock.now
    FOR UPDATE OF host SKIP LOCKED
),
forgotten AS (
    DELETE FROM :schema.host AS host USING gone WHERE host.name = gone.name
),
live AS MATERIALIZED (
    SELECT host.serves
    FROM clock, :schema.host AS host
    WHERE host.seen_at + $2::interval > clock.now
),
over AS MATERIALIZED (
    SELECT orphan.handler_key
    FROM :schema.orphan AS orphan
    WHERE EXISTS (SELECT 1 FROM live)
      AND (EXISTS (SELECT 1 FROM live WHERE live.serves ? orphan.handler_key)
           -- By the index, as when they are marked.
           OR (
               SELECT true
               FROM :schema.ready AS ready
               WHERE ready.handler_key = orphan.handler_key
               ORDER BY ready.ordered, ready.level, ready.version, ready.seq
               LIMIT 1
           ) IS NULL)
    FOR UPDATE OF orphan SKIP LOCKED
)
DELETE FROM :schema.orphan AS orphan USING over WHERE orphan.handler_key = over.handler_key
