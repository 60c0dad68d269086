-- ready → (dead), for what nobody serves. What is behind in its lane has not had its turn.
DELETE FROM inbox_ready
WHERE seq IN (SELECT seq FROM inbox_ready WHERE handler_key = ?1 AND behind = 0 ORDER BY seq LIMIT ?2)
RETURNING message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
          ordering_key, concurrency_key, position
