-- (put aside) → message, with its deliveries, as accept.sql does; a page of them, in the order of the
-- bytes of their keys, so that no two callers wait for each other; of equal keys the first. Answers how many there were, and
-- how many of them were new.
WITH page AS MATERIALIZED (
    DELETE FROM pg_temp.inbox_bulk
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM pg_temp.inbox_bulk
        ORDER BY tenant COLLATE "C", contract COLLATE "C", idempotency_key COLLATE "C", place
        LIMIT $1
    ))
    RETURNING *
),
accepted AS (
    INSERT INTO :schema.message (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    )
    SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM page
    ORDER BY tenant COLLATE "C", contract COLLATE "C", idempotency_key COLLATE "C", place
    ON CONFLICT DO NOTHING
    RETURNING id
),
delivery AS MATERIALIZED (
    SELECT page.id, page.tenant, page.contract, page.version, page.priority, page.due_at,
           page.ordering_key, page.concurrency_key,
           page.accepted_at, page.place, coalesce(route.handler_key, '') AS handler_key
    FROM accepted
    JOIN page USING (id)
    LEFT JOIN :schema.route AS route
        -- What shares an ordering key with something that waits for a handler waits behind that.
        ON route.contract = page.contract AND route.superseded_by IS NULL AND (page.ordering_key IS NULL OR (
            SELECT true
            FROM :schema.waiting AS before
            WHERE before.handler_key = '' AND before.contract = page.contract
              AND before.tenant = page.tenant AND before.ordering_key = page.ordering_key
            LIMIT 1
        ) IS NULL)
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key
    )
    SELECT handler_key, priority, version, id, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key <> '' AND due_at <= accepted_at
    ORDER BY place, handler_key
),
made_waiting AS (
    INSERT INTO :schema.waiting (
        message_id, handler_key, contract, version, priority, due_at, reason, tenant, ordering_key,
        concurrency_key
    )
    SELECT id, handler_key, contract, version, priority, due_at,
           CASE WHEN handler_key = '' THEN 'no-route' ELSE 'delay' END, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key = '' OR due_at > accepted_at
    ORDER BY place
)
SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM accepted)
