-- What an operator did to routes. The empty key supersedes what nothing else does.
UPDATE :schema.route AS route
SET retired = given.retired,
    superseded_by = coalesce(given.superseded_by, CASE WHEN given.retired THEN '' END)
FROM unnest($2::text[], $3::text[], $4::boolean[]) AS given (handler_key, superseded_by, retired)
WHERE route.contract = $1 AND route.handler_key = given.handler_key
