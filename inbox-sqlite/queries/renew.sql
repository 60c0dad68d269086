-- lease → lease, if it still holds. Answers whether its delivery is to be stopped.
UPDATE inbox_lease SET expires_at = ?2
WHERE token = ?1 AND expires_at > ?3
RETURNING message_id, cancel
