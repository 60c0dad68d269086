-- nothing → ready, for every route of the contract. What has an ordering key begins behind its lane.
INSERT INTO inbox_ready (
    handler_key, version, priority, message_id, tenant, first_key, ordering_key, concurrency_key, behind
)
SELECT route.handler_key, ?2, ?3, ?4, coalesce(message.tenant, ''),
       CASE WHEN message.ordering_key IS NOT NULL
            THEN coalesce(nullif(route.first_key, ''), route.handler_key) END,
       message.ordering_key, message.concurrency_key, message.ordering_key IS NOT NULL
FROM inbox_route AS route
LEFT JOIN inbox_message AS message ON message.id = ?4
WHERE route.contract = ?1 AND route.superseded_by IS NULL
ORDER BY route.handler_key
ON CONFLICT DO NOTHING
RETURNING first_key, tenant, ordering_key, behind
