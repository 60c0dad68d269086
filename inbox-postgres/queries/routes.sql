SELECT contract, handler_key, superseded_by
FROM :schema.route
WHERE contract = ANY ($1)
ORDER BY contract COLLATE "C", handler_key COLLATE "C"
