-- Quarantined deliveries that this worker can read, of the tenants in a list, or of all if there is none. The
-- one that has been ready for longest is first.
SELECT ready.seq, ready.tenant, ready.concurrency_key, ready.crashes, ready.handler_key, ready.version
FROM inbox_ready AS ready INDEXED BY inbox_ready_quarantine
WHERE ready.quarantined = 1 AND ready.behind = 0 AND EXISTS (
    SELECT 1
    FROM json_each(?1) AS wanted
    WHERE wanted.value ->> 0 = ready.handler_key AND wanted.value ->> 1 = ready.version
)
AND (?2 IS NULL OR ready.tenant IN (SELECT value FROM json_each(?2)))
ORDER BY ready.seq
