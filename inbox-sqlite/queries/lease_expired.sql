-- Leases that have expired, the first one first.
SELECT token, host, max_crashes, blocks, quarantined, alone, leased_at
FROM inbox_lease
WHERE expires_at <= ?1
ORDER BY expires_at, token
LIMIT ?2
