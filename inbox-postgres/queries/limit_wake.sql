-- waiting → ready, for as many of each concurrency key as others of it end. Answers how many ended, of whatever
-- key: the fleet has room for them.
WITH freed AS MATERIALIZED (
    SELECT freed.first_key, freed.tenant, freed.concurrency_key, count(*) AS permits
    FROM {{freed}} AS freed
    GROUP BY freed.first_key, freed.tenant, freed.concurrency_key
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM freed
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'limit' AND waiting.first_key = freed.first_key
          AND waiting.tenant = freed.tenant AND waiting.concurrency_key = freed.concurrency_key
        ORDER BY waiting.position
        LIMIT freed.permits
        FOR UPDATE SKIP LOCKED
    ) AS waiting
),
{{wake}}
SELECT coalesce(sum(permits), 0)::bigint FROM freed
