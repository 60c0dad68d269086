-- What an operator did to a route. The empty key supersedes what nothing else does.
UPDATE inbox_route
SET retired = ?4, superseded_by = coalesce(?3, CASE WHEN ?4 THEN '' END)
WHERE contract = ?1 AND handler_key = ?2
