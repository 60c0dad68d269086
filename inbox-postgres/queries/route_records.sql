-- Every route, with what is open under its key and who serves it.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
open AS MATERIALIZED (
    SELECT handler_key, sum(count)::bigint AS count
    FROM (
        SELECT handler_key, count(*) FROM :schema.ready GROUP BY handler_key
        UNION ALL
        SELECT handler_key, count(*) FROM :schema.held GROUP BY handler_key
        UNION ALL
        SELECT handler_key, count(*) FROM :schema.waiting GROUP BY handler_key
    ) AS place (handler_key, count)
    GROUP BY handler_key
)
SELECT route.contract, route.handler_key, nullif(route.superseded_by, ''), route.retired,
       coalesce(open.count, 0), ARRAY(
           SELECT host.name
           FROM clock, :schema.host AS host
           WHERE host.seen_at + $2::interval > clock.now AND host.serves ? route.handler_key
           ORDER BY host.name COLLATE "C"
       )
FROM :schema.route AS route
LEFT JOIN open USING (handler_key)
ORDER BY route.contract COLLATE "C", route.handler_key COLLATE "C"
