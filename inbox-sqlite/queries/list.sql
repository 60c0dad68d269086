SELECT message_id, handler_key, contract, state, attempts, due_at, lease_expires_at, settled_at,
       reason, error
FROM inbox_delivery
WHERE (?1 IS NULL OR state = ?1)
  AND (?2 IS NULL OR handler_key = ?2)
  AND (?3 IS NULL OR contract = ?3)
  AND (?4 IS NULL OR (message_id, handler_key) > (?4, ?5))
ORDER BY message_id, handler_key
LIMIT ?6
