-- lease → lease, where it still holds; with what of it is to be stopped. Locked in the order of tokens,
-- as settle does.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
held AS MATERIALIZED (
    SELECT lease.token
    FROM clock, :schema.lease AS lease
    WHERE lease.token = ANY ($2) AND lease.expires_at > clock.now
    ORDER BY lease.token
    FOR UPDATE OF lease
)
UPDATE :schema.lease AS lease
-- Never shorter than another renewal, which came later and got the lock first, has promised.
SET expires_at = greatest(lease.expires_at, clock.now + $3::interval)
FROM clock, held
WHERE lease.token = held.token
RETURNING lease.token, lease.expires_at, CASE
    WHEN position(B'1' IN lease.cancel & lease.open) > 0 THEN ARRAY(
        SELECT one.message_id
        FROM unnest(lease.message_ids) WITH ORDINALITY AS one (message_id, bit)
        WHERE get_bit(lease.cancel & lease.open, one.bit::integer - 1) = 1
        ORDER BY one.message_id
    )
END AS cancelled
