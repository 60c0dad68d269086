-- Keeps claims of handlers with limits from being made until what follows is committed: who is put behind a key
-- meanwhile is seen by the statement that wakes them. Nobody is put behind the limit of the fleet.
SELECT 1
FROM :schema.route AS guard
WHERE guard.handler_key = ANY (ARRAY(
    SELECT DISTINCT freed.first_key FROM {{freed}} AS freed {{keyed}}
))
ORDER BY guard.contract, guard.handler_key
FOR SHARE
