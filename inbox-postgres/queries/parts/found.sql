-- What has no ordering key, level by level, each in the order of numbers over all versions, and from the mark where
-- earlier claims of that level and version found work. The last LIMIT stops the others: levels that come after
-- enough was found are not looked at. By version, so that what nobody here reads costs nothing to pass by.
found AS MATERIALIZED (
    SELECT one.*
    FROM unnest($levels::smallint[]) AS wanted (level)
    CROSS JOIN LATERAL (
        SELECT ready.*
        FROM unnest($scan_levels::smallint[], $scan_versions::integer[], $scan_lows::bigint[])
            AS scan (level, version, low) {{served}}
        CROSS JOIN LATERAL (
            SELECT ctid AS row, seq, level, ready.version, ready.tenant, concurrency_key
            FROM :schema.ready AS ready
            WHERE handler_key = $handler_key {{bytes}} AND NOT ordered AND level = scan.level AND version = scan.version
              AND seq > scan.low {{theirs}}
            ORDER BY seq
            LIMIT {{most}}
            {{lock}}
        ) AS ready
        WHERE scan.level = wanted.level
        ORDER BY ready.seq
        LIMIT {{most}}
    ) AS one
    LIMIT {{most}}
)
