-- Deliveries of messages that were copied.
COPY :schema.ready (handler_key, priority, version, message_id, tenant) FROM STDIN (FORMAT binary)
