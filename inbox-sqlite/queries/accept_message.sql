-- nothing → message, unless one with this id or this key is there.
INSERT INTO inbox_message (
    id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
    concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT DO NOTHING
