(
    SELECT lane.message_id, lane.head_key
    FROM :schema.lane AS lane
    WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
      AND lane.ordering_key = found.ordering_key
    LIMIT 1
) AS lane
