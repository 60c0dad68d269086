-- A route of another bounded context.
SELECT context, handler_key FROM :schema.route WHERE context <> $1 LIMIT 1
