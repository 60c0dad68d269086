-- The lanes of those that do not come to an end: the first that blocks its lane is the next holder.
stays AS MATERIALIZED (
    SELECT DISTINCT ON (lane.row) lane.row, mine.message_id, mine.handler_key
    FROM mine
    CROSS JOIN LATERAL (
        SELECT ctid AS row, lease_id, message_id
        FROM :schema.lane AS lane
        WHERE lane.handler_key = mine.first_key AND lane.tenant = mine.tenant
          AND lane.ordering_key = mine.ordering_key
        LIMIT 1
    ) AS lane
    -- Not one that came later in a run, if its worker settles it all the same.
    WHERE mine.blocks_lane AND lane.lease_id = mine.lease_id AND lane.message_id IS NULL
    ORDER BY lane.row, mine.position
),
kept AS (
    UPDATE :schema.lane AS lane
    SET message_id = stays.message_id, head_key = stays.handler_key, since = clock.now
    FROM clock, stays
    WHERE lane.ctid = stays.row
)
