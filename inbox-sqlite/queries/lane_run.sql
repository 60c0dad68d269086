-- The oldest of a lane that are ready, up to one that waits for a retry or is dead and blocks. The one in front is
-- among them.
SELECT message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
       ordering_key, concurrency_key, position, seq
FROM inbox_ready
WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3 AND position <= max(?4, min(
    coalesce((
        SELECT min(position)
        FROM inbox_waiting
        WHERE handler_key <> '' AND first_key = ?1 AND tenant = ?2 AND ordering_key = ?3 AND position IS NOT NULL
    ), 9223372036854775807),
    coalesce((
        SELECT min(position)
        FROM inbox_dead
        WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3 AND position IS NOT NULL
    ), 9223372036854775807)
) - 1)
ORDER BY position, handler_key
LIMIT ?5
