SELECT message_id, handler_key, contract, state, attempts, due_at, lease_expires_at, settled_at,
       reason, error
FROM :schema.delivery
WHERE message_id = $1
