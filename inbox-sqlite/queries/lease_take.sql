-- ready → (held), for those that were looked at.
DELETE FROM inbox_ready
WHERE seq IN (SELECT value FROM json_each(?1))
RETURNING message_id, handler_key, version, priority, attempts, crashes, carry, first_key, tenant,
          ordering_key, concurrency_key, seq
