INSERT INTO inbox_host (name, started_at, seen_at, serves)
VALUES (?1, ?2, ?2, ?3)
ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at, serves = excluded.serves
