-- waiting → ready, for the oldest that waits for each concurrency key of which none is held. From key to key by
-- the index.
WITH RECURSIVE line AS (
    (SELECT waiting.first_key, waiting.tenant, waiting.concurrency_key
     FROM :schema.waiting AS waiting
     WHERE waiting.reason = 'limit'
     ORDER BY waiting.first_key, waiting.tenant, waiting.concurrency_key
     LIMIT 1)
    UNION ALL
    SELECT next.*
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.first_key, waiting.tenant, waiting.concurrency_key
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'limit'
          AND (waiting.first_key, waiting.tenant, waiting.concurrency_key)
              > (line.first_key, line.tenant, line.concurrency_key)
        ORDER BY waiting.first_key, waiting.tenant, waiting.concurrency_key
        LIMIT 1
    ) AS next
),
next AS MATERIALIZED (
    SELECT waiting.row
    FROM line
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM :schema.waiting AS waiting
        WHERE waiting.reason = 'limit' AND waiting.first_key = line.first_key
          AND waiting.tenant = line.tenant AND waiting.concurrency_key = line.concurrency_key
        ORDER BY waiting.position
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS waiting
    -- One look for each, and no join, which may read all that is held.
    WHERE (
        SELECT true
        FROM :schema.held AS held
        WHERE held.limited AND held.first_key = line.first_key AND held.tenant = line.tenant
          AND held.concurrency_key = line.concurrency_key
        LIMIT 1
    ) IS NULL
    LIMIT $1
),
{{wake}}
SELECT count(*) FROM next
