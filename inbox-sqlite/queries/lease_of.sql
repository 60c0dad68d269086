-- The lease behind a token, for as long as nobody has reclaimed it.
SELECT token, host, max_crashes, blocks, quarantined, alone, leased_at
FROM inbox_lease
WHERE token = ?1
