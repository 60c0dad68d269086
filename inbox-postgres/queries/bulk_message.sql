-- nothing → message, for what has no key and so conflicts with nothing.
COPY :schema.message (
    id, tenant, contract, version, payload, headers, ordering_key, concurrency_key, correlation_id,
    causation_id, deliver_by, accepted_at
)
FROM STDIN (FORMAT binary)
