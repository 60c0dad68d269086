-- Every route, with what is open under its key and who serves it.
WITH open AS MATERIALIZED (
    SELECT handler_key, count(*) AS count
    FROM (
        SELECT handler_key FROM inbox_ready
        UNION ALL
        SELECT handler_key FROM inbox_held
        UNION ALL
        SELECT handler_key FROM inbox_waiting
    )
    GROUP BY handler_key
)
SELECT route.contract, route.handler_key, nullif(route.superseded_by, ''), route.retired,
       coalesce(open.count, 0),
       (
           SELECT coalesce(json_group_array(host.name), '[]')
           FROM inbox_host AS host
           WHERE host.seen_at > ?1
             AND EXISTS (SELECT 1 FROM json_each(host.serves) WHERE key = route.handler_key)
       )
FROM inbox_route AS route
LEFT JOIN open USING (handler_key)
ORDER BY route.contract, route.handler_key
