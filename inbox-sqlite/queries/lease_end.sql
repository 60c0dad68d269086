-- lease → nothing, if nothing is held under it.
DELETE FROM inbox_lease
WHERE token = ?1 AND NOT EXISTS (SELECT 1 FROM inbox_held WHERE token = ?1)
