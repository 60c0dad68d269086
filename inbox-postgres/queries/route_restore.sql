UPDATE :schema.route AS route
SET superseded_by = NULL
FROM unnest($1::text[], $2::text[], $3::text[]) AS given (contract, handler_key, superseded)
WHERE route.contract = given.contract AND route.handler_key = given.handler_key
  AND route.superseded_by = given.superseded AND NOT route.retired
