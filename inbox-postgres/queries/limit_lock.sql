-- Claims of handlers with limits take turns, handler by handler, so that each can count what is held.
SELECT 1
FROM :schema.route AS guard
WHERE guard.handler_key = ANY (ARRAY(
    SELECT coalesce(nullif(route.first_key, ''), route.handler_key)
    FROM :schema.route AS route
    WHERE route.handler_key = ANY ($1::text[])
))
ORDER BY guard.contract, guard.handler_key
FOR NO KEY UPDATE
