-- Waits for whoever settles these deliveries, and answers how many of them are held still.
SELECT count(*)
FROM unnest($1::uuid[], $2::uuid[]) AS asked (lease_id, message_id)
CROSS JOIN LATERAL (
    SELECT 1
    FROM :schema.held AS held
    WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
    LIMIT 1
    FOR SHARE
) AS held
