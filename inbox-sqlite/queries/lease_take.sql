-- ready → (lease): the most urgent and then the oldest that this worker can read.
DELETE FROM inbox_ready
WHERE seq IN (
    SELECT seq
    FROM inbox_ready
    WHERE handler_key = ?1 AND suspect = ?2 AND version IN (SELECT value FROM json_each(?3))
    ORDER BY priority DESC, seq
    LIMIT ?4
)
RETURNING seq, message_id, version, priority, attempts, delayed_retries
