-- held → (done, waiting, dead or ready): one delivery of a lease.
DELETE FROM inbox_held
WHERE token = ?1 AND message_id = ?2
RETURNING message_id, handler_key, version, priority, attempt, crashes, carry, tenant, first_key,
          ordering_key, concurrency_key, position, cancel
