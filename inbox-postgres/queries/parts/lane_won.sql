-- A lane that nobody is in is for the oldest of its key, also where that is not among those looked at, so that those
-- behind it stand in nobody's way. In the order of keys, so that no two statements wait for each other.
won AS (
    INSERT INTO :schema.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, open.tenant, open.ordering_key, oldest.message_id, oldest.handler_key, clock.now
    FROM clock, first, (SELECT DISTINCT tenant, ordering_key FROM keyed WHERE head IS NULL) AS open
    CROSS JOIN LATERAL :schema.lane_next(first.key, open.tenant, open.ordering_key) AS oldest
    -- Not for one that somebody is about to take away, who would not know of the lane.
    CROSS JOIN LATERAL (
        SELECT 1
        FROM :schema.ready AS ready
        WHERE ready.message_id = oldest.message_id AND ready.handler_key = oldest.handler_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS still
    WHERE NOT oldest.waits
    ORDER BY open.tenant, open.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id, head_key = $handler_key AS is_mine
)
