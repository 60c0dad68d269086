SELECT message_id, handler_key, contract, state, attempts, due_at, lease_expires_at, settled_at,
       reason, error
FROM :schema.delivery
WHERE message_id = $1 AND state <> 'processing'
UNION ALL
-- Looked for in the arrays: the view would unpack every lease that there is.
SELECT $1, lease.handler_key, message.contract, 'processing',
       coalesce(lease.attempts[array_position(lease.message_ids, $1)], lease.attempts[1]), NULL,
       lease.expires_at, NULL, NULL, NULL
FROM :schema.lease AS lease
LEFT JOIN :schema.message AS message ON message.id = $1
WHERE lease.message_ids @> ARRAY[$1::uuid]
  AND get_bit(lease.open, array_position(lease.message_ids, $1) - 1) = 1
