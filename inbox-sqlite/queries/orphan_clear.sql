-- Keys that somebody serves, and those under which nothing has its turn.
DELETE FROM inbox_orphan
WHERE handler_key IN (SELECT value FROM json_each(?1))
   OR NOT EXISTS (
       SELECT 1 FROM inbox_ready AS ready WHERE ready.handler_key = inbox_orphan.handler_key AND behind = 0
   )
