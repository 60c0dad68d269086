-- The messages that envelopes repeat: the same id, or else the same key.
SELECT given.place, message.*
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
    WITH ORDINALITY AS given (id, tenant, contract, idempotency_key, place)
CROSS JOIN LATERAL (
    SELECT {{message_row}}
    FROM :schema.message AS first
    WHERE first.id = given.id
    UNION ALL
    SELECT {{message_row}}
    FROM :schema.message AS first
    WHERE first.tenant = given.tenant AND first.contract = given.contract
      AND first.idempotency_key = given.idempotency_key
    LIMIT 1
) AS message
