(
    -- Of a run, what ends together is one.
    SELECT DISTINCT held.first_key, held.tenant, held.concurrency_key, asked.lease_id, held.ordering_key,
           CASE WHEN held.ordering_key IS NULL THEN asked.message_id END
    FROM unnest($1::uuid[], $2::uuid[]) AS asked (lease_id, message_id)
    CROSS JOIN LATERAL (
        SELECT held.first_key, held.tenant, held.ordering_key, held.concurrency_key, held.limited
        FROM :schema.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
    ) AS held
    WHERE held.limited OR held.concurrency_key IS NOT NULL
)
