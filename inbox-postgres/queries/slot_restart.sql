-- waiting → ready, for the oldest that waits for a slot of each key of which none is in use. From key to key by
-- the index.
WITH RECURSIVE line AS (
    (SELECT waiting.first_key, waiting.tenant, waiting.shared_key
     FROM :schema.waiting AS waiting
     WHERE waiting.reason = 'slot' AND waiting.shared_key IS NOT NULL
     ORDER BY waiting.first_key, waiting.tenant, waiting.shared_key
     LIMIT 1)
    UNION ALL
    SELECT next.*
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.first_key, waiting.tenant, waiting.shared_key
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'slot' AND waiting.shared_key IS NOT NULL
          AND (waiting.first_key, waiting.tenant, waiting.shared_key)
              > (line.first_key, line.tenant, line.shared_key)
        ORDER BY waiting.first_key, waiting.tenant, waiting.shared_key
        LIMIT 1
    ) AS next
),
oldest AS MATERIALIZED (
    SELECT head.row
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'slot' AND waiting.first_key = line.first_key
          AND waiting.tenant = line.tenant AND waiting.shared_key = line.shared_key
        ORDER BY waiting.seq
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS head
    WHERE NOT EXISTS (
        SELECT 1
        FROM :schema.slot AS slot
        WHERE slot.handler_key = line.first_key AND slot.tenant = line.tenant
          AND slot.concurrency_key = line.shared_key
    )
    LIMIT $1
),
woken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM oldest)) RETURNING *
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, attempts, delayed_retries, suspect, tenant,
        ordering_key, concurrency_key
    )
    SELECT woken.handler_key, woken.priority, woken.version, woken.message_id, woken.attempts,
           woken.delayed_retries, woken.suspect, woken.tenant, message.ordering_key, woken.shared_key
    FROM woken
    LEFT JOIN LATERAL (
        SELECT ordering_key FROM :schema.message WHERE id = woken.message_id LIMIT 1
    ) AS message ON true
)
SELECT count(*) FROM woken
