-- nothing → message, with its deliveries, as accept.sql does for many: fewer steps, for what is done
-- most. Answers when, or nothing if there was a conflict.
WITH accepted AS (
    INSERT INTO :schema.message ({{message_row}})
    VALUES (
        $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
        coalesce($1::timestamptz, clock_timestamp())
    )
    ON CONFLICT DO NOTHING
    RETURNING accepted_at, greatest(
        accepted_at,
        coalesce($15::timestamptz, accepted_at + $16::interval, accepted_at)
    ) AS due_at
),
-- What shares an ordering key with something that waits for a handler waits behind that.
route AS MATERIALIZED (
    SELECT route.handler_key
    FROM :schema.route AS route
    WHERE route.contract = $4 AND route.superseded_by IS NULL AND ($9::text IS NULL OR (
        SELECT true
        FROM :schema.waiting AS before
        WHERE before.handler_key = '' AND before.contract = $4 AND before.tenant = $3 AND before.ordering_key = $9
        LIMIT 1
    ) IS NULL)
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key
    )
    SELECT route.handler_key, $14::smallint, $5::integer, $2::uuid, $3::text, $9::text, $10::text
    FROM accepted, route
    WHERE accepted.due_at <= accepted.accepted_at
    ORDER BY route.handler_key
),
made_waiting AS (
    INSERT INTO :schema.waiting (
        message_id, handler_key, contract, version, priority, due_at, reason, tenant, ordering_key,
        concurrency_key
    )
    SELECT $2::uuid, coalesce(route.handler_key, ''), $4::text, $5::integer, $14::smallint,
           accepted.due_at,
           CASE WHEN route.handler_key IS NULL THEN 'no-route' ELSE 'delay' END, $3::text, $9::text, $10::text
    FROM accepted
    LEFT JOIN route ON true
    WHERE route.handler_key IS NULL OR accepted.due_at > accepted.accepted_at
)
SELECT accepted_at FROM accepted
