-- lease → lease, until someone has reclaimed any of it, also where it has expired; with what of it is to be stopped.
-- Locked in the order of ids.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
mine AS MATERIALIZED (
    SELECT id FROM :schema.lease WHERE id = ANY ($2) AND NOT reclaimed ORDER BY id FOR UPDATE
)
UPDATE :schema.lease AS lease
-- Never shorter than another renewal, which came later and got the lock first, has promised.
SET expires_at = greatest(lease.expires_at, (SELECT now FROM clock) + $3::interval)
WHERE lease.id = ANY (ARRAY(SELECT id FROM mine))
RETURNING lease.id, lease.expires_at, ARRAY(
    SELECT held.message_id
    FROM :schema.held AS held
    WHERE held.lease_id = lease.id AND held.cancel
    ORDER BY held.message_id
) AS cancelled, (
    SELECT true FROM :schema.held AS held WHERE held.lease_id = lease.id LIMIT 1
) AS holds
