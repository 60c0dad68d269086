-- nothing → message, with its deliveries, by the function that a writer may call: as accept.sql does, and
-- in the order they are given in. What conflicts is left out of the answer, to be looked up.
SELECT answer.accepted_at, ARRAY[answer.message_id]
FROM unnest(
    $2::uuid[], $3::text[], $4::text[], $5::integer[], $6::jsonb[], $7::jsonb[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[], $14::smallint[],
    $15::timestamptz[], $16::interval[]
) AS given (
    id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
    concurrency_key, correlation_id, causation_id, deliver_by, priority, start_at, start_after
)
CROSS JOIN LATERAL :schema.schedule(
    contract => given.contract,
    version => given.version,
    payload => given.payload,
    idempotency_key => given.idempotency_key,
    ordering_key => given.ordering_key,
    concurrency_key => given.concurrency_key,
    -- Before the calendar begins is now.
    start_at => nullif(given.start_at, '-infinity'),
    delay => given.start_after,
    deliver_by => given.deliver_by,
    priority => (ARRAY['low', 'normal', 'high', 'urgent'])[given.priority + 1],
    correlation_id => given.correlation_id,
    causation_id => given.causation_id,
    tenant => coalesce(given.tenant, ''),
    headers => coalesce(given.headers, '{}'),
    id => given.id,
    clock => $1::timestamptz
) AS answer
WHERE answer.is_new
