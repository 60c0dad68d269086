-- What has an ordering key, in the same order. Not locked: nobody holds a row while it waits for a lane.
queued AS MATERIALIZED (
    SELECT one.*
    FROM unnest($levels::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($scan_levels::smallint[], $scan_versions::integer[], $lane_lows::bigint[]) AS scan (level, version, low) {{served}}
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, message_id, ready.tenant, ordering_key
            FROM :schema.ready AS ready
            WHERE handler_key = $handler_key {{bytes}} AND ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low {{theirs}}
            ORDER BY seq
            LIMIT $window::bigint
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT $window::bigint
    ) AS one
    LIMIT $window::bigint
)
