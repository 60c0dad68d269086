-- Tokens of slots whose deliveries nobody holds.
SELECT DISTINCT slot.token
FROM :schema.slot AS slot
WHERE NOT EXISTS (
    SELECT 1
    FROM :schema.lease AS lease
    WHERE lease.token = slot.token
      AND get_bit(lease.open, array_position(lease.message_ids, slot.message_id) - 1) = 1
)
LIMIT $1
