-- ready → (lease): of all that this worker can read, the suspect that has been ready for longest, of the
-- tenants in a list, or of all if there is none.
DELETE FROM inbox_ready
WHERE seq IN (
    SELECT ready.seq
    FROM inbox_ready AS ready
    WHERE ready.suspect = 1 AND EXISTS (
        SELECT 1
        FROM json_each(?1) AS wanted
        WHERE wanted.value ->> 0 = ready.handler_key AND wanted.value ->> 1 = ready.version
    )
    AND (?2 IS NULL OR ready.tenant IN (SELECT value FROM json_each(?2)))
    ORDER BY ready.seq
    LIMIT 1
)
RETURNING seq, message_id, version, priority, attempts, delayed_retries, handler_key
