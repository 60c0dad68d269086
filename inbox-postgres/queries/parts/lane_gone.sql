OR coalesce((
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
              WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key
              LIMIT 1
          ),
          -- By its message alone, what is held is found by reading all of it: once for all lanes.
          CASE WHEN (lane.message_id, lane.head_key) IN (
              SELECT held.message_id, held.handler_key FROM :schema.held AS held
          ) THEN true END) IS NULL
