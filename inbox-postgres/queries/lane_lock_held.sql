-- Locks the lanes of these deliveries, in the order of lanes, before they are settled: what is moved behind a lane
-- meanwhile is seen by lane_end.sql, which hands these lanes on, by their names, and no others.
SELECT set_config('inbox.lanes', coalesce(jsonb_agg(locked), '[]')::text, true)
FROM (
    SELECT name.first_key, name.tenant, name.ordering_key
    FROM (
        SELECT DISTINCT held.first_key, held.tenant, held.ordering_key
        FROM unnest($1::uuid[], $2::uuid[]) AS asked (lease_id, message_id)
        CROSS JOIN LATERAL (
            SELECT first_key, tenant, ordering_key
            FROM :schema.held AS held
            WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
            LIMIT 1
        ) AS held
        WHERE held.ordering_key IS NOT NULL
        ORDER BY held.first_key, held.tenant, held.ordering_key
    ) AS name
    CROSS JOIN LATERAL (
        SELECT 1
        FROM :schema.lane AS lane
        WHERE lane.handler_key = name.first_key AND lane.tenant = name.tenant
          AND lane.ordering_key = name.ordering_key
        LIMIT 1
        FOR UPDATE
    ) AS lane
) AS locked
