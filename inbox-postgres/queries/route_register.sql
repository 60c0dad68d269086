-- A key that was superseded stays so, unless it supersedes its successor in turn. One that an operator
-- closed supersedes nothing.
INSERT INTO :schema.route AS route (contract, handler_key, superseded_by, registered_at, context)
SELECT contract, handler_key, superseded_by, coalesce($4::timestamptz, clock_timestamp()), $5::text
FROM unnest($1::text[], $2::text[], $3::text[])
    AS given (contract, handler_key, superseded_by)
WHERE NOT EXISTS (
    SELECT 1
    FROM :schema.route AS successor
    WHERE successor.contract = given.contract AND successor.handler_key = given.superseded_by
      AND successor.retired
)
ORDER BY contract, handler_key
ON CONFLICT (contract, handler_key) DO UPDATE
SET superseded_by = excluded.superseded_by
WHERE excluded.superseded_by IS NOT NULL
