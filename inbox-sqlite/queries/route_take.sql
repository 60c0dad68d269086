-- waiting for a route → (ready or waiting), for messages whose contract has one by now; those of a contract in the
-- order in which they were accepted. By the index, so that what has no route yet costs nothing to pass by.
DELETE FROM inbox_waiting
WHERE handler_key = '' AND message_id IN (
    SELECT message_id
    FROM inbox_waiting
    WHERE handler_key = '' AND contract IN (
        SELECT contract FROM inbox_route WHERE superseded_by IS NULL
    )
    ORDER BY contract, position
    LIMIT ?1
)
RETURNING message_id, version, priority, due_at, contract, position, tenant, ordering_key, concurrency_key
