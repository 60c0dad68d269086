-- How many deliveries of a handler are held, as far as that matters.
SELECT count(*) FROM (SELECT 1 FROM inbox_held WHERE first_key = ?1 LIMIT ?2)
