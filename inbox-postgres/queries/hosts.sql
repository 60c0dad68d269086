SELECT name, started_at, seen_at, serves FROM :schema.host ORDER BY name COLLATE "C"
