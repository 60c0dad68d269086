-- lease → (ready or dead), for those that have expired.
DELETE FROM inbox_lease
WHERE token IN (
    SELECT token FROM inbox_lease WHERE expires_at <= ?1 ORDER BY expires_at, token LIMIT ?2
)
RETURNING handler_key, message_id, version, priority, attempt, delayed_retries, suspect, leased_at,
          cancel, blocks, bound, max_attempts
