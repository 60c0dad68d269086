-- Keys whose grace is over, and whether a dead delivery under them blocks its lane.
SELECT orphan.handler_key, coalesce((
           SELECT max(route.blocks) FROM inbox_route AS route WHERE route.handler_key = orphan.handler_key
       ), 1)
FROM inbox_orphan AS orphan
WHERE orphan.since <= ?1
ORDER BY orphan.handler_key
