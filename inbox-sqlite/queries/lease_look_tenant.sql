-- The same, for one tenant that has a name.
SELECT message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
       ordering_key, concurrency_key, position, seq
FROM inbox_ready INDEXED BY inbox_ready_tenant
WHERE tenant = ?3 AND tenant <> '' AND handler_key = ?1 AND quarantined = 0 AND behind = 0
  AND priority BETWEEN ?4 AND ?5 AND ordered = ?6
  AND version IN (SELECT value FROM json_each(?2))
ORDER BY priority DESC, seq
