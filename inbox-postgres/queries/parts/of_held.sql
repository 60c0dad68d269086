    SELECT lane.*
    FROM jsonb_to_recordset(current_setting('inbox.lanes')::jsonb) AS name (first_key text, tenant text, ordering_key text)
    CROSS JOIN LATERAL (
        SELECT lane.ctid AS row, lane.*
        FROM :schema.lane AS lane
        WHERE lane.handler_key = name.first_key AND lane.tenant = name.tenant
          AND lane.ordering_key = name.ordering_key
        LIMIT 1
    ) AS lane
