-- Another delivery is the head of the lane now.
UPDATE inbox_lane SET message_id = ?4, head_key = ?5, since = ?6
WHERE handler_key = ?1 AND tenant = ?2 AND ordering_key = ?3
