-- ready → (waiting), for one handler or for all.
DELETE FROM inbox_ready
WHERE message_id = ?1 AND (?2 IS NULL OR handler_key = ?2)
RETURNING handler_key, version, priority, attempts, delayed_retries, suspect, first_key, tenant,
          ordering_key
