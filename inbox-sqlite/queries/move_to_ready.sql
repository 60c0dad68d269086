-- (held, waiting or dead) → ready. One that is there already, by whatever accident, is not doubled and
-- keeps nobody else waiting. What has an ordering key begins behind its lane, unless it is the head.
INSERT INTO inbox_ready (
    message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
    ordering_key, concurrency_key, behind
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce(message.tenant, ''),
       CASE WHEN message.ordering_key IS NOT NULL THEN coalesce((
           SELECT nullif(route.first_key, '') FROM inbox_route AS route WHERE route.handler_key = ?2 LIMIT 1
       ), ?2) END,
       message.ordering_key, message.concurrency_key,
       message.ordering_key IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM inbox_lane AS lane WHERE lane.message_id = ?1 AND lane.head_key = ?2
       )
FROM (SELECT 1)
LEFT JOIN inbox_message AS message ON message.id = ?1
WHERE true
ON CONFLICT DO NOTHING
RETURNING first_key, tenant, ordering_key, behind
