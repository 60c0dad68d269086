-- Locks these lanes, in the order of lanes, before something is done to their deliveries.
SELECT 1
FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[]) ORDER BY 1, 2, 3)
    AS name (first_key, tenant, ordering_key)
CROSS JOIN LATERAL (
    SELECT 1
    FROM :schema.lane AS lane
    WHERE lane.handler_key = name.first_key AND lane.tenant = name.tenant AND lane.ordering_key = name.ordering_key
    LIMIT 1
    FOR UPDATE
) AS lane
