-- A handler that has another key now goes on in the lanes and the limits of its first one. What a key that was
-- in use before went by, it goes by still.
UPDATE inbox_route
SET first_key = coalesce(
    (SELECT same.first_key
     FROM inbox_route AS same
     WHERE same.handler_key = ?2 AND same.first_key <> ''
     LIMIT 1),
    (SELECT coalesce(nullif(old.first_key, ''), old.handler_key)
     FROM inbox_route AS old
     WHERE old.contract = ?1 AND old.handler_key = ?3),
    ?2
)
WHERE handler_key = ?2 AND first_key = ''
