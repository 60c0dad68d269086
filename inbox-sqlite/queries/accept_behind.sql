-- Whether something of this ordering key waits for a route.
SELECT EXISTS (
    SELECT 1
    FROM inbox_waiting
    WHERE handler_key = '' AND contract = ?1 AND tenant = ?2 AND ordering_key = ?3 AND ordering_key IS NOT NULL
)
