-- Deliveries that this worker can read, of the tenants in a list, or of all if there is none, and of a range
-- of priorities, in the order of leasing. It is read as far as needed.
SELECT seq, priority, tenant, concurrency_key
FROM inbox_ready
WHERE handler_key = ?1 AND quarantined = 0 AND behind = 0 AND priority BETWEEN ?4 AND ?5
  AND version IN (SELECT value FROM json_each(?2))
  AND (?3 IS NULL OR tenant IN (SELECT value FROM json_each(?3)))
ORDER BY priority DESC, seq
