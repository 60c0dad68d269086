-- The contract that a key takes besides this one.
SELECT contract
FROM inbox_route
WHERE handler_key = ?1 AND contract <> ?2 AND superseded_by IS NULL
LIMIT 1
