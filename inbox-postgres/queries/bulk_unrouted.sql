-- The contracts of which something with an ordering key waits for a handler: what is copied waits behind that.
SELECT given.contract
FROM unnest($1::text[]) AS given (contract)
CROSS JOIN LATERAL (
    SELECT 1
    FROM :schema.waiting AS before
    WHERE before.handler_key = '' AND before.contract = given.contract AND before.ordering_key IS NOT NULL
    LIMIT 1
) AS before
