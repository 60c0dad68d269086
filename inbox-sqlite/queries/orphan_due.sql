-- Keys whose grace is over.
SELECT handler_key FROM inbox_orphan WHERE since <= ?1 ORDER BY handler_key
