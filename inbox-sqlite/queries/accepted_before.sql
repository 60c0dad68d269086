-- The message that an envelope repeats: the same id, or else the same key.
SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
       concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
FROM inbox_message
WHERE id = ?1 OR (tenant = ?2 AND contract = ?3 AND idempotency_key = ?4)
ORDER BY id = ?1 DESC
LIMIT 1
