woken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
        position, carry
    )
    SELECT handler_key, priority, version, message_id, attempts, crashes, tenant, ordering_key, concurrency_key,
           position, carry
    FROM woken
    ORDER BY position
)
