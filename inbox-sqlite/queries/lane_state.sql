-- Whose turn it is in a lane, and what was noted of it: who is in front, and the lane's own row.
SELECT head.message_id, head.handler_key, head.seq, (
           SELECT seq
           FROM inbox_ready
           WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3 AND behind = 0
       ), lane.message_id IS NOT NULL, lane.message_id IS head.message_id AND lane.head_key IS head.handler_key
FROM (SELECT 1)
LEFT JOIN inbox_lane AS lane ON lane.first_key = ?1 AND lane.tenant = ?2 AND lane.ordering_key = ?3
LEFT JOIN (
    SELECT message_id, handler_key, seq
    FROM (
        SELECT * FROM (
            SELECT 0 AS turn, position, message_id, handler_key, NULL AS seq
            FROM inbox_held
            WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3
            ORDER BY position
            LIMIT 1
        )
        UNION ALL
        SELECT * FROM (
            SELECT 1, position, message_id, handler_key, NULL
            FROM inbox_waiting
            WHERE handler_key <> '' AND first_key = ?1 AND tenant = ?2 AND ordering_key = ?3 AND position IS NOT NULL
            ORDER BY position
            LIMIT 1
        )
        UNION ALL
        SELECT * FROM (
            SELECT 1, position, message_id, handler_key, NULL
            FROM inbox_dead
            WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3 AND position IS NOT NULL
            ORDER BY position
            LIMIT 1
        )
        UNION ALL
        SELECT * FROM (
            SELECT 1, position, message_id, handler_key, seq
            FROM inbox_ready
            WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3
            ORDER BY position, handler_key
            LIMIT 1
        )
    )
    ORDER BY turn, position, handler_key
    LIMIT 1
) AS head
