-- Keys that somebody serves, and those under which nothing is ready.
DELETE FROM inbox_orphan
WHERE handler_key IN (SELECT value FROM json_each(?1))
   OR NOT EXISTS (SELECT 1 FROM inbox_ready AS ready WHERE ready.handler_key = inbox_orphan.handler_key)
