-- The oldest of a lane comes to its front. Answers which it is, if there is one.
UPDATE inbox_ready SET behind = 0
WHERE seq = (
    SELECT seq
    FROM inbox_ready
    WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3
    ORDER BY behind, seq
    LIMIT 1
)
RETURNING message_id, handler_key
