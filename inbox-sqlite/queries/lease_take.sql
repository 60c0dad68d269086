-- ready → (lease): the most urgent and then the oldest that this worker can read, of the tenants in a
-- list, or of all if there is none.
DELETE FROM inbox_ready
WHERE seq IN (
    SELECT seq
    FROM inbox_ready
    WHERE handler_key = ?1 AND suspect = 0 AND behind = 0
      AND version IN (SELECT value FROM json_each(?2))
      AND (?4 IS NULL OR tenant IN (SELECT value FROM json_each(?4)))
    ORDER BY priority DESC, seq
    LIMIT ?3
)
RETURNING seq, message_id, version, priority, attempts, delayed_retries, handler_key, tenant,
          first_key, ordering_key, concurrency_key
