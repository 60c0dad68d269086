-- Heads of lanes that are nowhere, or in a place where they hold no lane.
SELECT lane.message_id
FROM :schema.lane AS lane
WHERE NOT EXISTS (SELECT 1 FROM :schema.ready AS ready
                  WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key)
  AND NOT EXISTS (SELECT 1 FROM :schema.waiting AS waiting
                  WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
                    AND waiting.reason <> 'lane')
  AND NOT EXISTS (SELECT 1 FROM :schema.dead AS dead
                  WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
                    AND dead.blocks)
  AND (lane.message_id, lane.head_key) NOT IN (
      SELECT one.message_id, lease.handler_key
      FROM :schema.lease AS lease
      CROSS JOIN LATERAL unnest(lease.message_ids) WITH ORDINALITY AS one (message_id, bit)
      WHERE get_bit(lease.open, one.bit::integer - 1) = 1
  )
LIMIT $1
