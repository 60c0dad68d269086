SELECT contract, handler_key, nullif(superseded_by, ''), retired
FROM :schema.route
WHERE contract = ANY ($1)
ORDER BY contract COLLATE "C", handler_key COLLATE "C"
