-- A delivery that is leased becomes the head of its lane, or is so already. Changes nothing where another one is.
INSERT INTO inbox_lane (handler_key, tenant, ordering_key, message_id, head_key, since)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (handler_key, tenant, ordering_key) DO UPDATE SET head_key = excluded.head_key
WHERE message_id = excluded.message_id AND head_key = excluded.head_key
