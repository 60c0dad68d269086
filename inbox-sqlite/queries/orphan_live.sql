-- The keys that live hosts serve, and whether there are any such hosts.
SELECT count(*),
       (
           SELECT json_group_array(handler_key)
           FROM (
               SELECT DISTINCT served.key AS handler_key
               FROM inbox_host AS host, json_each(host.serves) AS served
               WHERE host.seen_at > ?1
               ORDER BY handler_key
           )
       )
FROM inbox_host
WHERE seen_at > ?1
