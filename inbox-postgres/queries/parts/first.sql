first AS MATERIALIZED (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM :schema.route AS route WHERE route.handler_key = $handler_key LIMIT 1
    ), $handler_key) AS key
)
