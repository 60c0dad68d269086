-- It is the turn of another delivery of the lane.
INSERT INTO inbox_lane (first_key, tenant, ordering_key, message_id, head_key, since)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (first_key, tenant, ordering_key) DO UPDATE SET
    message_id = excluded.message_id, head_key = excluded.head_key, since = excluded.since
