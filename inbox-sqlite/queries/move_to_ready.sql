-- (held, waiting or dead) → ready. One that is there already, by whatever accident, is not doubled and
-- keeps nobody else waiting. What has an ordering key begins behind its lane.
INSERT INTO inbox_ready (
    message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
    ordering_key, concurrency_key, position, behind
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?10 IS NOT NULL)
ON CONFLICT (message_id, handler_key) DO NOTHING
