-- The head of a lane, if it is dead.
SELECT lane.message_id, lane.head_key
FROM inbox_lane AS lane
JOIN inbox_dead AS dead ON dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
WHERE lane.handler_key = ?1 AND lane.tenant = ?2 AND lane.ordering_key = ?3
