SELECT contract, handler_key, nullif(superseded_by, ''), retired,
       (SELECT count(*) FROM inbox_ready AS open WHERE open.handler_key = route.handler_key)
       + (SELECT count(*) FROM inbox_lease AS open WHERE open.handler_key = route.handler_key)
       + (SELECT count(*) FROM inbox_waiting AS open WHERE open.handler_key = route.handler_key),
       (
           SELECT coalesce(json_group_array(host.name), '[]')
           FROM inbox_host AS host
           WHERE host.seen_at > ?1
             AND EXISTS (SELECT 1 FROM json_each(host.serves) WHERE key = route.handler_key)
       )
FROM inbox_route AS route
ORDER BY contract, handler_key
