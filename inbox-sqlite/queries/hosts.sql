SELECT name, started_at, seen_at, serves FROM inbox_host ORDER BY name
