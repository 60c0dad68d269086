-- Whether this host holds a suspect.
SELECT EXISTS (SELECT 1 FROM inbox_lease WHERE host = ?1 AND suspect = 1 AND expires_at > ?2)
