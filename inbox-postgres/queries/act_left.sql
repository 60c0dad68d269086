-- Deliveries of a message that are ready, waiting or, if that is asked for, held, and were not found
-- by an act on them: they moved while it looked.
SELECT place.handler_key
FROM (
    SELECT handler_key FROM :schema.ready WHERE message_id = $1
    UNION ALL
    SELECT handler_key FROM :schema.waiting WHERE message_id = $1
    UNION ALL
    SELECT handler_key FROM :schema.held WHERE $4 AND message_id = $1
) AS place
WHERE ($2::text IS NULL OR place.handler_key = $2) AND NOT place.handler_key = ANY ($3::text[])
LIMIT 1
