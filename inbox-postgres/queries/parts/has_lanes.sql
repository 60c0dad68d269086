(
    SELECT true
    FROM unnest($scan_levels::smallint[], $scan_versions::integer[], $lane_lows::bigint[]) AS scan (level, version, low)
    CROSS JOIN LATERAL (
        SELECT 1
        FROM :schema.ready
        WHERE handler_key = $handler_key AND ordered AND level = scan.level AND version = scan.version
          AND seq > scan.low
        ORDER BY seq
        LIMIT 1
    ) AS one
    LIMIT 1
) AS has_lanes
