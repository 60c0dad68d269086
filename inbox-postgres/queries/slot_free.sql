-- Frees the slots of deliveries that are not held any more, under these tokens, and gives as many of those that
-- wait behind them their chance. The slots were locked before, and by a statement of their own. Answers how
-- many were freed.
WITH freed AS (
    DELETE FROM :schema.slot AS slot
    WHERE slot.token = ANY ($1::uuid[]) AND NOT EXISTS (
        SELECT 1
        FROM :schema.lease AS lease
        WHERE lease.token = slot.token
          AND get_bit(lease.open, array_position(lease.message_ids, slot.message_id) - 1) = 1
    )
    RETURNING slot.handler_key, slot.tenant, slot.concurrency_key
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM (
        SELECT handler_key, tenant, concurrency_key, count(*) AS units
        FROM freed
        WHERE concurrency_key <> ''
        GROUP BY handler_key, tenant, concurrency_key
    ) AS key
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'slot' AND waiting.first_key = key.handler_key
          AND waiting.tenant = key.tenant AND waiting.shared_key = key.concurrency_key
        ORDER BY waiting.seq
        LIMIT key.units
        FOR UPDATE SKIP LOCKED
    ) AS waiting
),
woken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
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
    ORDER BY woken.seq
)
SELECT count(*) FROM freed
