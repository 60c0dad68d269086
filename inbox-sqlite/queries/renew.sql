-- lease → lease, unless someone has reclaimed any of it.
UPDATE inbox_lease SET expires_at = ?2 WHERE token = ?1 AND reclaimed = 0
