(
    SELECT DISTINCT coalesce(nullif(route.first_key, ''), route.handler_key) AS first_key, message.tenant,
           message.concurrency_key
    FROM :schema.message AS message
    JOIN :schema.route AS route ON route.contract = message.contract
    WHERE message.id = ANY ($1::uuid[]) AND message.concurrency_key IS NOT NULL
)
