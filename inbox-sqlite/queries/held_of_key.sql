-- How many deliveries of a concurrency key are held, as far as that matters.
SELECT count(*)
FROM (
    SELECT 1 FROM inbox_held WHERE first_key = ?1 AND tenant = ?2 AND concurrency_key = ?3 LIMIT ?4
)
