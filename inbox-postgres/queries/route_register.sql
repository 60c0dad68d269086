-- A key that was superseded stays so, unless it supersedes its successor in turn. One that an operator
-- closed supersedes nothing.
INSERT INTO :schema.route AS route (contract, handler_key, superseded_by, registered_at, context, blocks)
SELECT contract, handler_key, superseded_by, coalesce($4::timestamptz, clock_timestamp()), $5::text, blocks
FROM unnest($1::text[], $2::text[], $3::text[], $6::boolean[])
    AS given (contract, handler_key, superseded_by, blocks)
WHERE NOT EXISTS (
    SELECT 1
    FROM :schema.route AS successor
    WHERE successor.contract = given.contract AND successor.handler_key = given.superseded_by
      AND successor.retired
)
ORDER BY contract, handler_key
ON CONFLICT (contract, handler_key) DO UPDATE
SET superseded_by = coalesce(excluded.superseded_by, route.superseded_by), blocks = excluded.blocks
WHERE (coalesce(excluded.superseded_by, route.superseded_by), excluded.blocks)
      IS DISTINCT FROM (route.superseded_by, route.blocks)
