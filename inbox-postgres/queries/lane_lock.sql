-- Locks the lanes whose heads are these messages, in the order of lanes, before the heads are settled: what is
-- moved behind a lane meanwhile is seen by the statement after this one, which hands the lane on.
SELECT 1
FROM :schema.lane AS lane
WHERE lane.message_id = ANY ($1::uuid[])
-- Not by the columns as they are: an index has all lanes in that order, and would be read instead of theirs.
ORDER BY lane.handler_key || '', lane.tenant, lane.ordering_key
FOR UPDATE
