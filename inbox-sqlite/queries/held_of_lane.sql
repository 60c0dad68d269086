-- What a lease still holds of a lane: whether a worker has vanished with any of that. Nothing, if it holds none.
SELECT max(crashes) > 0
FROM inbox_held
WHERE token = ?1 AND first_key = ?2 AND tenant = ?3 AND ordering_key = ?4
