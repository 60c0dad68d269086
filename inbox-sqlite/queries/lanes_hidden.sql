-- Heads that stand behind themselves come to the front.
UPDATE inbox_ready SET behind = 0
WHERE seq IN (
    SELECT ready.seq
    FROM inbox_lane AS lane
    JOIN inbox_ready AS ready
        ON ready.message_id = lane.message_id AND ready.handler_key = lane.head_key
    WHERE ready.behind = 1
    LIMIT ?1
)
