-- Deliveries that this worker can read, of the tenants in a list, or of all if there is none, and of a range
-- of priorities, in the order of leasing: those without an ordering key, or those in front of their lanes. It is read
-- as far as needed.
SELECT message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
       ordering_key, concurrency_key, position, seq
FROM inbox_ready
WHERE handler_key = ?1 AND quarantined = 0 AND behind = 0 AND priority BETWEEN ?4 AND ?5 AND ordered = ?6
  AND version IN (SELECT value FROM json_each(?2))
  AND (?3 IS NULL OR tenant IN (SELECT value FROM json_each(?3)))
ORDER BY priority DESC, seq
