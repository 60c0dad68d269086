-- Heads of lanes that are nowhere, or done.
SELECT lane.message_id, lane.head_key
FROM inbox_lane AS lane
WHERE NOT EXISTS (SELECT 1 FROM inbox_held AS held
                  WHERE held.message_id = lane.message_id AND held.handler_key = lane.head_key)
  AND NOT EXISTS (SELECT 1 FROM inbox_ready AS ready
                  WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key)
  AND NOT EXISTS (SELECT 1 FROM inbox_waiting AS waiting
                  WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key)
  AND NOT EXISTS (SELECT 1 FROM inbox_dead AS dead
                  WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key)
LIMIT ?1
