-- A lease that is gone although something is held under it, as nothing here leaves it: it is back, and expired, so
-- that what it held can be reclaimed. Answers how many there were.
WITH lost AS (
    INSERT INTO :schema.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT DISTINCT ON (held.lease_id) held.lease_id, 'unknown', held.handler_key, false, 3,
           coalesce($1::timestamptz, clock_timestamp())
    FROM :schema.held AS held
    WHERE held.lease_id NOT IN (SELECT lease.id FROM :schema.lease AS lease)
    ORDER BY held.lease_id
    LIMIT $2
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT count(*) FROM lost
