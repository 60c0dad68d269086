DELETE FROM :schema.host WHERE name = $1
