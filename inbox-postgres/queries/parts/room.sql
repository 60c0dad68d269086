-- How many deliveries without an ordering key may be taken: what the limit of the fleet and the lanes that were won
-- leave. Where there is no other limit, a permit is for several deliveries, of which the worker runs one at a time.
room AS MATERIALIZED (
    SELECT CASE WHEN one.is_shared THEN one.permits END::integer AS permits,
           CASE
               WHEN one.is_shared THEN least($limit::bigint - one.won, one.permits * $length::bigint)
               ELSE one.permits
           END AS deliveries
    FROM (
        SELECT lanes.won, $fleet::integer IS NOT NULL AND $per_key::integer IS NULL AS is_shared,
               -- Nobody counts what is used where the fleet has no limit.
               greatest(least(
                   $limit,
                   CASE WHEN $fleet IS NOT NULL THEN $fleet - :schema.permits_used(first.key) END,
                   CASE WHEN $fleet IS NOT NULL THEN $lanes::bigint END
               ) - lanes.won, 0) AS permits
        FROM first, (SELECT count(*) AS won FROM :schema.lane WHERE lease_id = $lease) AS lanes
    ) AS one
)
