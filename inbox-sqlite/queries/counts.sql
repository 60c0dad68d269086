SELECT handler_key, state, count(*)
FROM (
    SELECT handler_key, 'pending' AS state FROM inbox_ready
    UNION ALL
    SELECT handler_key, 'processing' FROM inbox_held
    UNION ALL
    SELECT handler_key, 'waiting' FROM inbox_waiting
    UNION ALL
    SELECT handler_key, 'dead' FROM inbox_dead
    UNION ALL
    SELECT handler_key, outcome FROM inbox_done
)
GROUP BY handler_key, state
