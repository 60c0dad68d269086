-- A dead head that blocks its lane does so no longer. Answers which it is.
WITH lane AS MATERIALIZED (
    SELECT lane.message_id, lane.head_key
    FROM :schema.lane AS lane
    WHERE lane.handler_key = coalesce((
              SELECT nullif(route.first_key, '')
              FROM :schema.route AS route
              WHERE route.handler_key = $1
              LIMIT 1
          ), $1)
      AND lane.tenant = $2 AND lane.ordering_key = $3
)
UPDATE :schema.dead AS dead
SET blocks = false
-- No join, which may read all that is dead.
WHERE dead.message_id = (SELECT message_id FROM lane) AND dead.handler_key = (SELECT head_key FROM lane)
RETURNING dead.message_id
