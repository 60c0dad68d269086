-- held → (done, dead or ready): all deliveries of a lease, but at most so many. Of a run the last ones first, so that
-- its worker, which may still settle the others, passes none that was taken from it.
DELETE FROM inbox_held
WHERE token = ?1 AND message_id IN (
    SELECT message_id FROM inbox_held WHERE token = ?1 ORDER BY position DESC LIMIT ?2
)
RETURNING message_id, handler_key, version, priority, attempt, crashes, carry, tenant, first_key,
          ordering_key, concurrency_key, position, cancel
