-- dead → ready, with all attempts again.
WITH taken AS (
    DELETE FROM :schema.dead WHERE message_id = $1 AND handler_key = $2 RETURNING *
),
returned AS (
    INSERT INTO :schema.ready (handler_key, priority, version, message_id, tenant)
    SELECT handler_key, priority, version, message_id,
           coalesce((SELECT tenant FROM :schema.message WHERE id = taken.message_id), '')
    FROM taken
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken
