-- nothing → message, with a delivery for each route: ready, or waiting until its start; or waiting
-- for a route. Answers when, and the ids of the messages that are new: a message that conflicts is
-- left out, to be looked up.
--
-- Messages are given in the order of keys and stored in that order, so that no two callers wait for
-- each other; of equal keys the first. An array may be empty where all of its values would be NULL.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
accepted AS (
    INSERT INTO :schema.message (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    )
    SELECT id, coalesce(tenant, ''), contract, version, payload, coalesce(headers, '{}'),
           idempotency_key, ordering_key, concurrency_key, correlation_id, causation_id, deliver_by,
           (SELECT now FROM clock)
    FROM unnest(
        $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::jsonb[], $7::jsonb[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[]
    ) AS given (
        id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
        concurrency_key, correlation_id, causation_id, deliver_by
    )
    {{conflicts}}
    RETURNING id, tenant, contract, version, ordering_key, concurrency_key, accepted_at
),
-- Once for each contract, and not for each message.
route AS MATERIALIZED (
    SELECT contract, handler_key FROM :schema.route
    WHERE contract = ANY ($4::text[]) AND superseded_by IS NULL
),
delivery AS MATERIALIZED (
    SELECT accepted.*, coalesce(route.handler_key, '') AS handler_key, given.priority, given.place,
           greatest(accepted_at, coalesce(given.start_at, accepted_at + given.start_after,
                                          accepted_at)) AS due_at
    FROM accepted
    JOIN unnest($2::uuid[], $14::smallint[], $15::timestamptz[], $16::interval[], $17::bigint[])
        AS given (id, priority, start_at, start_after, place) USING (id)
    -- What shares an ordering key with something that waits for a handler waits behind that.
    LEFT JOIN route ON route.contract = accepted.contract AND (accepted.ordering_key IS NULL OR (
        SELECT true
        FROM :schema.waiting AS before
        WHERE before.handler_key = '' AND before.contract = accepted.contract
          AND before.tenant = accepted.tenant AND before.ordering_key = accepted.ordering_key
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
SELECT now, ARRAY(SELECT id FROM accepted) FROM clock
