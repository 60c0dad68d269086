-- waiting for a route → (ready or waiting), for messages whose contract has one by now.
DELETE FROM inbox_waiting
WHERE handler_key = '' AND message_id IN (
    SELECT waiting.message_id
    FROM inbox_waiting AS waiting
    JOIN inbox_message AS message ON message.id = waiting.message_id
    WHERE waiting.handler_key = '' AND EXISTS (
        SELECT 1
        FROM inbox_route AS route
        WHERE route.contract = message.contract AND route.superseded_by IS NULL
    )
    ORDER BY waiting.message_id
    LIMIT ?1
)
RETURNING message_id, version, priority, due_at,
    (SELECT contract FROM inbox_message WHERE id = inbox_waiting.message_id)
