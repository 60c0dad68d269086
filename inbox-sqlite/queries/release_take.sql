-- lease → (ready), by the one who holds it, or did until it expired.
DELETE FROM inbox_lease
WHERE token = ?1
RETURNING handler_key, message_id, version, priority, attempt, delayed_retries, suspect, leased_at,
          cancel, blocks, bound
