-- Quarantined deliveries that this worker can read, of the tenants in a list, or of all if there is none. The
-- one that has been ready for longest is first.
SELECT message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
       ordering_key, concurrency_key, position, seq
FROM inbox_ready INDEXED BY inbox_ready_quarantine
WHERE quarantined = 1 AND behind = 0 AND EXISTS (
    SELECT 1
    FROM json_each(?1) AS wanted
    WHERE wanted.value ->> 0 = inbox_ready.handler_key AND wanted.value ->> 1 = inbox_ready.version
)
AND (?2 IS NULL OR tenant IN (SELECT value FROM json_each(?2)))
ORDER BY seq
