-- The lanes whose head is this delivery: one at most.
SELECT handler_key, tenant, ordering_key FROM inbox_lane WHERE message_id = ?1 AND head_key = ?2
