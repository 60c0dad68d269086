-- Deliveries of a lease that are to be stopped.
SELECT message_id FROM inbox_held WHERE token = ?1 AND cancel = 1 ORDER BY message_id
