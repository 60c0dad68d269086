-- What is held under these leases, and whether it holds a lane and may count for a limit.
SELECT lease_id, message_id, ordering_key IS NOT NULL, limited OR concurrency_key IS NOT NULL
FROM :schema.held
WHERE lease_id = ANY ($1::uuid[])
ORDER BY lease_id, message_id
