SELECT handler_key, attempt, host, leased_at, settled_at, error_type, error
FROM :schema.attempt
WHERE message_id = $1
ORDER BY id
