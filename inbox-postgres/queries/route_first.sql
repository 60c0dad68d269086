-- A handler that has another key now goes on in the lanes and the limits of its first one. What a key that was
-- in use before went by, it goes by still.
UPDATE :schema.route AS route
SET first_key = coalesce((
    SELECT coalesce(nullif(old.first_key, ''), old.handler_key)
    FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (contract, handler_key, old, nth)
    JOIN :schema.route AS old ON old.contract = given.contract AND old.handler_key = given.old
    WHERE given.contract = route.contract AND given.handler_key = route.handler_key
    ORDER BY given.nth
    LIMIT 1
), route.handler_key)
WHERE route.first_key = ''
