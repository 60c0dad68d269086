-- waiting → (done or ready), for one handler or for all; what waits for a route, only if that is asked for.
DELETE FROM inbox_waiting
WHERE message_id = ?1 AND (?2 IS NULL OR handler_key = ?2) AND (?3 OR handler_key <> '')
RETURNING message_id, handler_key, version, priority, attempts, crashes, carry, tenant, first_key,
          ordering_key, concurrency_key, position
