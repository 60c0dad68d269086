-- Whether a live host serves this key, by now; which versions are among the first that are ready under it; and
-- whether a dead one blocks its lane.
SELECT EXISTS (
           SELECT 1
           FROM :schema.host AS host
           WHERE host.seen_at + $2::interval > coalesce($1::timestamptz, clock_timestamp()) AND host.serves ? $3::text
       ), ARRAY(
           SELECT DISTINCT first.version
           FROM (
               SELECT ready.version
               FROM :schema.ready AS ready
               WHERE ready.handler_key = $3
               ORDER BY ready.ordered, ready.level, ready.version, ready.seq
               LIMIT $4
           ) AS first
       ), (
           SELECT route.blocks FROM :schema.route AS route WHERE route.handler_key = $3 LIMIT 1
       )
