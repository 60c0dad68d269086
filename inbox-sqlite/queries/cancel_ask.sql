-- lease → lease, whose worker is to stop.
UPDATE inbox_lease SET cancel = 1
WHERE message_id = ?1 AND (?2 IS NULL OR handler_key = ?2)
