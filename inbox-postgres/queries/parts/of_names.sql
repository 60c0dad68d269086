    SELECT lane.*
    FROM (SELECT DISTINCT * FROM unnest($2::text[], $3::text[], $4::text[])) AS name (first_key, tenant, ordering_key)
    CROSS JOIN LATERAL (
        SELECT lane.ctid AS row, lane.*
        FROM :schema.lane AS lane
        WHERE lane.handler_key = name.first_key AND lane.tenant = name.tenant
          AND lane.ordering_key = name.ordering_key
        LIMIT 1
    ) AS lane
