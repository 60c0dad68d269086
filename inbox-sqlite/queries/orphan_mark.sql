-- Keys under which something has its turn and that nobody serves. The time in which nobody looked does not
-- count.
INSERT INTO inbox_orphan (handler_key, since, seen_at)
SELECT DISTINCT route.handler_key, ?2, ?2
FROM inbox_route AS route
WHERE route.handler_key NOT IN (SELECT value FROM json_each(?1))
  AND EXISTS (SELECT 1 FROM inbox_ready AS ready WHERE ready.handler_key = route.handler_key AND behind = 0)
ON CONFLICT DO UPDATE SET
    since = CASE
        WHEN seen_at < ?3 THEN since + (excluded.seen_at - seen_at)
        ELSE since
    END,
    seen_at = max(seen_at, excluded.seen_at)
