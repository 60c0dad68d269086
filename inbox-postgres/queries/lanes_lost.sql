-- Heads of lanes that are nowhere, or in a place where they hold no lane. One look at each place for each lane,
-- and no join, which may read all that is ready or waits.
SELECT lane.message_id
FROM :schema.lane AS lane
WHERE coalesce((
          SELECT true FROM :schema.ready AS ready
          WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
          LIMIT 1
      ), (
          SELECT true FROM :schema.waiting AS waiting
          WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
            AND waiting.reason <> 'lane'
          LIMIT 1
      ), (
          SELECT true FROM :schema.dead AS dead
          WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key AND dead.blocks
          LIMIT 1
      )) IS NULL
  -- By its message alone, what is held is found by reading all of it: once for all lanes.
  AND (lane.message_id, lane.head_key) NOT IN (
      SELECT held.message_id, held.handler_key FROM :schema.held AS held WHERE held.ordering_key IS NOT NULL
  )
LIMIT $1
