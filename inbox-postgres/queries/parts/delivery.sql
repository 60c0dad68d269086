message_id, handler_key, version, priority, tenant, ordering_key, concurrency_key
