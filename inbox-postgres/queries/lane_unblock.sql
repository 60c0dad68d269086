-- A dead delivery that blocks its lane does so no longer. Answers which lane that is.
WITH lane AS MATERIALIZED (
    SELECT lane.handler_key, lane.tenant, lane.ordering_key, lane.message_id, lane.head_key
    FROM :schema.lane AS lane
    WHERE lane.handler_key = :schema.first_key($1) AND lane.tenant = $2 AND lane.ordering_key = $3
),
unblocked AS (
    UPDATE :schema.dead AS dead
    SET blocks = false
    -- No join, which may read all that is dead.
    WHERE dead.message_id = (SELECT message_id FROM lane) AND dead.handler_key = (SELECT head_key FROM lane)
    RETURNING 1
)
SELECT lane.handler_key, lane.tenant, lane.ordering_key FROM lane, unblocked
