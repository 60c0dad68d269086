-- How many deliveries of a concurrency key are held, as far as that matters. A run counts as one.
SELECT count(*)
FROM (
    SELECT DISTINCT ordering_key,
           CASE WHEN ordering_key IS NULL THEN message_id END,
           CASE WHEN ordering_key IS NULL THEN handler_key END
    FROM inbox_held
    WHERE first_key = ?1 AND tenant = ?2 AND concurrency_key = ?3
    LIMIT ?4
)
