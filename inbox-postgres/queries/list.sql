SELECT message_id, handler_key, contract, state, attempts, due_at, lease_expires_at, settled_at,
       reason, error
FROM :schema.delivery
WHERE ($1::text IS NULL OR state = $1)
  AND ($2::text IS NULL OR handler_key = $2)
  AND ($3::text IS NULL OR contract = $3)
  AND ($4::uuid IS NULL
       OR (message_id, coalesce(handler_key, '') COLLATE "C") > ($4, $5::text COLLATE "C"))
ORDER BY message_id, coalesce(handler_key, '') COLLATE "C"
LIMIT $6
