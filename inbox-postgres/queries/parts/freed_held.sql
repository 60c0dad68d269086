(
    SELECT held.first_key, held.tenant, held.concurrency_key
    FROM unnest($1::uuid[], $2::uuid[]) AS asked (lease_id, message_id)
    CROSS JOIN LATERAL (
        SELECT held.first_key, held.tenant, held.concurrency_key, held.limited
        FROM :schema.held AS held
        WHERE held.lease_id = asked.lease_id AND held.message_id = asked.message_id
        LIMIT 1
    ) AS held
    WHERE held.limited OR held.concurrency_key IS NOT NULL
)
