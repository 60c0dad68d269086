-- The lanes that deliveries of this message are in.
SELECT DISTINCT coalesce(nullif(route.first_key, ''), route.handler_key), message.tenant, message.ordering_key
FROM :schema.message AS message
JOIN :schema.route AS route ON route.contract = message.contract
WHERE message.id = $1::uuid AND message.ordering_key IS NOT NULL
