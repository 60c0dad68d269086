-- What is held under these leases, and whether it holds a lane or counts for a limit.
SELECT lease_id, message_id, limited OR num_nonnulls(ordering_key, concurrency_key) > 0 AS shares
FROM :schema.held
WHERE lease_id = ANY ($1::uuid[])
ORDER BY lease_id, message_id
