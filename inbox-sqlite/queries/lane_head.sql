-- It is the turn of this delivery in its lane. To win the lane for a lease changes nothing while another lease holds
-- any of it.
INSERT INTO inbox_lane (first_key, tenant, ordering_key, message_id, head_key, since)
SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE NOT ?7 OR NOT EXISTS (
    SELECT 1 FROM inbox_held WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3
)
ON CONFLICT (first_key, tenant, ordering_key) DO UPDATE SET
    since = CASE
        WHEN (message_id, head_key) = (excluded.message_id, excluded.head_key) THEN since
        ELSE excluded.since
    END,
    message_id = excluded.message_id,
    head_key = excluded.head_key
