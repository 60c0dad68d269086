-- Lanes whose head is nowhere, or has come to its end, or stands behind itself.
SELECT lane.first_key, lane.tenant, lane.ordering_key
FROM inbox_lane AS lane
WHERE NOT EXISTS (SELECT 1 FROM inbox_held AS held
                  WHERE held.message_id = lane.message_id AND held.handler_key = lane.head_key)
  AND NOT EXISTS (SELECT 1 FROM inbox_ready AS ready
                  WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
                    AND ready.behind = 0)
  AND NOT EXISTS (SELECT 1 FROM inbox_waiting AS waiting
                  WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
                    AND waiting.position IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM inbox_dead AS dead
                  WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
                    AND dead.position IS NOT NULL)
LIMIT ?1
