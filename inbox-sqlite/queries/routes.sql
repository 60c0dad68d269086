SELECT contract, handler_key, nullif(superseded_by, ''), retired
FROM inbox_route
WHERE contract IN (SELECT value FROM json_each(?1))
ORDER BY contract, handler_key
