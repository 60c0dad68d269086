-- nothing → message, with a delivery for each route: ready, or waiting until its start; or waiting
-- for a route. What conflicts is left out of the answer, to be looked up.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
envelope AS MATERIALIZED (
    SELECT given.*, greatest(clock.now, coalesce(given.start_at, clock.now + given.start_after,
                                                 clock.now)) AS due_at, clock.now
    FROM clock, unnest(
        $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::jsonb[], $7::jsonb[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[], $14::smallint[],
        $15::timestamptz[], $16::interval[]
    ) WITH ORDINALITY AS given (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by, priority, start_at, start_after,
        place
    )
),
-- In the order of keys, or else of ids, so that no two callers wait for each other; of equal keys the
-- first.
accepted AS (
    INSERT INTO :schema.message (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    )
    SELECT id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, now
    FROM envelope
    ORDER BY tenant, contract, idempotency_key, CASE WHEN idempotency_key IS NULL THEN id END, place
    ON CONFLICT DO NOTHING
    RETURNING id, accepted_at
),
delivery AS MATERIALIZED (
    SELECT envelope.id, envelope.tenant, envelope.contract, envelope.version, envelope.priority,
           envelope.ordering_key, envelope.concurrency_key,
           envelope.due_at, envelope.place, envelope.now, coalesce(route.handler_key, '') AS handler_key
    FROM accepted
    JOIN envelope USING (id)
    LEFT JOIN :schema.route AS route
        ON route.contract = envelope.contract AND route.superseded_by IS NULL
),
made_ready AS (
    INSERT INTO :schema.ready (
        handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key
    )
    SELECT handler_key, priority, version, id, tenant, ordering_key, concurrency_key
    FROM delivery
    WHERE handler_key <> '' AND due_at <= now
    ORDER BY place, handler_key
),
made_waiting AS (
    INSERT INTO :schema.waiting (
        message_id, handler_key, contract, version, priority, due_at, reason
    )
    SELECT id, handler_key, contract, version, priority, due_at,
           CASE WHEN handler_key = '' THEN 'no-route' ELSE 'delay' END
    FROM delivery
    WHERE handler_key = '' OR due_at > now
)
SELECT id, accepted_at FROM accepted
