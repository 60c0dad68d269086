-- lease → (ready), by the one who holds it.
DELETE FROM inbox_lease
WHERE token = ?1 AND expires_at > ?2
RETURNING handler_key, message_id, version, priority, attempt, delayed_retries, suspect, leased_at,
          cancel
