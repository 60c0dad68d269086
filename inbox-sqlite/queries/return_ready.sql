-- (lease or waiting) → ready. One that is there already, by whatever accident, is not doubled and
-- keeps nobody else waiting.
INSERT INTO inbox_ready (
    handler_key, version, priority, message_id, attempts, delayed_retries, suspect, tenant
)
VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce((SELECT tenant FROM inbox_message WHERE id = ?4), '')
)
ON CONFLICT DO NOTHING
