-- A route of another bounded context.
SELECT context, handler_key FROM inbox_route WHERE context <> ?1 LIMIT 1
