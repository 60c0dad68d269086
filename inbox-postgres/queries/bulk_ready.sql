-- Deliveries of messages that were copied.
COPY :schema.ready (handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key)
FROM STDIN (FORMAT binary)
