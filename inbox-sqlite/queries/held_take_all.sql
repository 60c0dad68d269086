-- held → (done, dead or ready): all deliveries of a lease, but at most so many.
DELETE FROM inbox_held
WHERE token = ?1 AND message_id IN (SELECT message_id FROM inbox_held WHERE token = ?1 LIMIT ?2)
RETURNING message_id, handler_key, version, priority, attempt, crashes, carry, cancel
