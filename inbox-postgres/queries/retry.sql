-- dead → ready, with all attempts again. One that blocks its lane holds it still, and its turn is next.
WITH taken AS (
    DELETE FROM :schema.dead WHERE message_id = $1 AND handler_key = $2 RETURNING *
),
returned AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key, position
    )
    SELECT handler_key, priority, version, message_id, coalesce(message.tenant, ''),
           message.ordering_key, message.concurrency_key,
           -- Others have passed it, where it did not block them.
           CASE WHEN blocks THEN position ELSE nextval(:position) END
    FROM taken
    LEFT JOIN LATERAL (
        SELECT tenant, ordering_key, concurrency_key FROM :schema.message WHERE id = taken.message_id LIMIT 1
    ) AS message ON true
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken
