-- held → held, whose worker is to stop.
UPDATE inbox_held SET cancel = 1
WHERE message_id = ?1 AND (?2 IS NULL OR handler_key = ?2)
