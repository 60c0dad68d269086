-- A key that supersedes its successor in turn takes its place back, unless an operator closed it.
UPDATE inbox_route
SET superseded_by = NULL
WHERE contract = ?1 AND handler_key = ?2 AND NOT retired
  AND superseded_by IN (SELECT value FROM json_each(?3))
