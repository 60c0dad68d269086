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
    INSERT INTO :schema.message ({{message_row}})
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
    RETURNING id AS message_id, tenant, contract, version, ordering_key, concurrency_key, accepted_at
),
-- Once for each contract, and not for each message.
route AS MATERIALIZED (
    SELECT contract, handler_key FROM :schema.route
    WHERE contract = ANY ($4::text[]) AND superseded_by IS NULL
),
delivery AS MATERIALIZED (
    SELECT accepted.*, coalesce(route.handler_key, '') AS handler_key, given.priority, given.place,
           greatest(accepted_at, coalesce(given.start_at, accepted_at + given.start_after, accepted_at)) AS due_at
    FROM accepted
    JOIN unnest($2::uuid[], $14::smallint[], $15::timestamptz[], $16::interval[], $17::bigint[])
        AS given (message_id, priority, start_at, start_after, place) USING (message_id)
    -- What shares an ordering key with something that waits for a handler waits behind that.
    LEFT JOIN route ON route.contract = accepted.contract AND {{follows}}
),
{{deliver}}
SELECT now, ARRAY(SELECT message_id FROM accepted) FROM clock
