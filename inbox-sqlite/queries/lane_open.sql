-- The oldest of a lane that has no head comes to its front, unless one is there.
UPDATE inbox_ready SET behind = 0
WHERE seq = (
    SELECT seq
    FROM inbox_ready
    WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3 AND behind = 1
    ORDER BY seq
    LIMIT 1
)
AND NOT EXISTS (
    SELECT 1 FROM inbox_lane WHERE handler_key = ?1 AND tenant = ?2 AND ordering_key = ?3
)
AND NOT EXISTS (
    SELECT 1
    FROM inbox_ready
    WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3 AND behind = 0
)
