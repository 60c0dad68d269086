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
used AS MATERIALIZED (
    SELECT handler.first_key, used.tenant, used.concurrency_key
    FROM (SELECT DISTINCT first_key FROM line) AS handler
    CROSS JOIN LATERAL :schema.permits_of_keys(handler.first_key) AS used
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
    WHERE (line.first_key, line.tenant, line.concurrency_key) NOT IN (SELECT * FROM used)
    LIMIT $1
),
{{wake}}
SELECT count(*) FROM next
