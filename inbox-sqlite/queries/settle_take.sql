-- lease → (done, waiting, dead or ready), if it still holds.
DELETE FROM inbox_lease
WHERE token = ?1 AND message_id = ?2 AND expires_at > ?3
RETURNING handler_key, message_id, version, priority, attempt, delayed_retries, suspect, leased_at,
          cancel, blocks, bound
