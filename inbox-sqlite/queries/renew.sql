-- lease → lease, if it still holds.
UPDATE inbox_lease SET expires_at = ?2 WHERE token = ?1 AND expires_at > ?3
