id, tenant, contract, version, payload, headers, idempotency_key, ordering_key, concurrency_key,
           correlation_id, causation_id, deliver_by, accepted_at
