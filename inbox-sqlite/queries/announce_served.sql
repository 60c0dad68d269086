-- Somebody serves them, or did.
DELETE FROM inbox_orphan WHERE handler_key IN (SELECT key FROM json_each(?1))
