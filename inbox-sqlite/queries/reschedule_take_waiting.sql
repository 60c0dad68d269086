-- waiting → (ready), for one handler or for all. What waits for a route is not ready before it.
DELETE FROM inbox_waiting
WHERE message_id = ?1 AND (?2 IS NULL OR handler_key = ?2) AND handler_key <> ''
RETURNING handler_key, version, priority, attempts, delayed_retries, suspect, NULL, NULL, NULL
