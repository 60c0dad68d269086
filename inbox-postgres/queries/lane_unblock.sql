-- A dead head that blocks its lane does so no longer. Answers which it is.
UPDATE :schema.dead AS dead
SET blocks = false
FROM :schema.lane AS lane
WHERE lane.handler_key = coalesce((
          SELECT nullif(route.first_key, '') FROM :schema.route AS route WHERE route.handler_key = $1 LIMIT 1
      ), $1)
  AND lane.tenant = $2 AND lane.ordering_key = $3
  AND dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
RETURNING dead.message_id
