-- lease → lease, unless someone has reclaimed it.
UPDATE inbox_lease SET expires_at = ?2 WHERE token = ?1
