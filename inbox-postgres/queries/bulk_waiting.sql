-- Deliveries of messages that were copied, and whose time or whose route has not come.
COPY :schema.waiting (
    message_id, handler_key, contract, version, priority, due_at, reason, tenant, ordering_key, concurrency_key
)
FROM STDIN (FORMAT binary)
