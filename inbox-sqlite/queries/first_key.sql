-- The key that a handler had first.
SELECT coalesce((
    SELECT nullif(first_key, '') FROM inbox_route WHERE handler_key = ?1 LIMIT 1
), ?1)
