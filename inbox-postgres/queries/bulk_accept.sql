-- (put aside) → message, with its deliveries, as accept.sql does; a page of them, in the order of the
-- bytes of their keys, so that no two callers wait for each other; of equal keys the first. Answers how many there were, and
-- how many of them were new.
WITH page AS MATERIALIZED (
    DELETE FROM pg_temp.inbox_bulk
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM pg_temp.inbox_bulk
        ORDER BY tenant COLLATE "C", contract COLLATE "C", idempotency_key COLLATE "C", place
        LIMIT $1
    ))
    RETURNING *
),
accepted AS (
    INSERT INTO :schema.message ({{message_row}})
    SELECT {{message_row}}
    FROM page
    ORDER BY tenant COLLATE "C", contract COLLATE "C", idempotency_key COLLATE "C", place
    ON CONFLICT DO NOTHING
    RETURNING id
),
delivery AS MATERIALIZED (
    SELECT id AS message_id, accepted.contract, version, priority, tenant, ordering_key, concurrency_key, due_at,
           accepted_at, place, coalesce(route.handler_key, '') AS handler_key
    FROM accepted AS new
    JOIN page AS accepted USING (id)
    -- What shares an ordering key with something that waits for a handler waits behind that.
    LEFT JOIN :schema.route AS route
        ON route.contract = accepted.contract AND route.superseded_by IS NULL AND {{follows}}
),
{{deliver}}
SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM accepted)
