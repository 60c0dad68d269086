lane.lease_id IS NOT NULL AND (
        SELECT true
        FROM :schema.held AS held
        WHERE held.lease_id = lane.lease_id AND held.tenant = lane.tenant
          AND held.ordering_key = lane.ordering_key AND held.ordering_key IS NOT NULL
        LIMIT 1
    ) IS NOT NULL AS runs,
    lane.message_id IS NOT NULL AND coalesce((
        SELECT true FROM :schema.ready AS ready
        WHERE ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
        LIMIT 1
    ), (
        SELECT true FROM :schema.waiting AS waiting
        WHERE waiting.message_id = lane.message_id AND waiting.handler_key = lane.head_key
          AND waiting.reason NOT IN ('lane', 'delay')
        LIMIT 1
    ), (
        SELECT true FROM :schema.dead AS dead
        WHERE dead.message_id = lane.message_id AND dead.handler_key = lane.head_key AND dead.blocks
        LIMIT 1
    )) IS NOT NULL AS has_head
