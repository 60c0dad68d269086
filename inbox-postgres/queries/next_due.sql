-- When the first of those that wait for a moment is due, and what time it is.
SELECT due_at, coalesce($1::timestamptz, clock_timestamp()) AS now
FROM :schema.waiting
WHERE handler_key <> '' AND first_key IS NULL
ORDER BY due_at
LIMIT 1
