-- ready → (dead), for what nobody serves.
DELETE FROM inbox_ready
WHERE seq IN (SELECT seq FROM inbox_ready WHERE handler_key = ?1 ORDER BY seq LIMIT ?2)
RETURNING message_id, version, priority, attempts
