-- ready → (lease), for one that was looked at.
DELETE FROM inbox_ready
WHERE seq = ?1
RETURNING seq, message_id, version, priority, attempts, delayed_retries, handler_key, tenant,
          first_key, ordering_key, concurrency_key
