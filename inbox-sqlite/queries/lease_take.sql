-- ready → (held), for those that were chosen.
DELETE FROM inbox_ready WHERE seq IN (SELECT value FROM json_each(?1))
