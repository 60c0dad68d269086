SELECT {{message_row}}
FROM :schema.message
WHERE id = $1
