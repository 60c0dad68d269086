-- Locks the slots of leases that are about to end, in the order of slots: what is moved behind them meanwhile is
-- seen by the statement that frees them.
SELECT 1
FROM :schema.slot AS slot
WHERE slot.token = ANY ($1::uuid[])
ORDER BY slot.handler_key, slot.tenant, slot.concurrency_key, slot.n
FOR UPDATE
