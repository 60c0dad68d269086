-- Keys that take another contract than the one they are to be registered for.
SELECT given.handler_key, given.contract, route.contract AS taken_by
FROM unnest($1::text[], $2::text[]) AS given (contract, handler_key)
JOIN :schema.route AS route USING (handler_key)
WHERE route.contract <> given.contract AND route.superseded_by IS NULL
ORDER BY given.handler_key
LIMIT 1
