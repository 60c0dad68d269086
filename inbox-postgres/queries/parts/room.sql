-- How many deliveries without an ordering key may be taken: what the limit of the fleet and the lanes that were won
-- leave. Where there is no other limit, a permit is for several deliveries, of which the worker runs one at a time.
free AS MATERIALIZED (
    SELECT lanes.won, $fleet::integer IS NOT NULL AND $per_key::integer IS NULL AS is_shared,
           greatest(least(
               $limit::bigint,
               -- Nobody counts what is used where the fleet has no limit.
               CASE WHEN $fleet IS NOT NULL THEN $fleet - :schema.permits_used(first.key) END,
               -- No more than the worker runs at once.
               CASE WHEN $fleet IS NOT NULL AND $per_key IS NULL THEN $lanes::bigint END
           ) - lanes.won, 0) AS permits
    FROM first, (SELECT count(*) AS won FROM :schema.lane WHERE lease_id = $lease) AS lanes
),
room AS MATERIALIZED (
    SELECT CASE WHEN is_shared THEN permits END::integer AS permits,
           CASE WHEN is_shared THEN least($limit - won, permits * $length::bigint) ELSE permits END AS deliveries
    FROM free
)
