-- Keys and levels of quarantined deliveries that this worker can read: that of the one that has been ready for
-- longest first.
SELECT wanted.handler_key, ready.level
FROM unnest($1::text[], $2::integer[]) AS wanted (handler_key, version)
CROSS JOIN (VALUES (4::smallint, false), (4, true), (5, false), (5, true)) AS quarantined (level, ordered)
CROSS JOIN LATERAL (
    SELECT ready.level, ready.seq
    FROM :schema.ready AS ready
    WHERE ready.handler_key = wanted.handler_key AND ready.ordered = quarantined.ordered
      AND ready.level = quarantined.level AND ready.version = wanted.version
      AND ($3::text[] IS NULL OR ready.tenant = ANY ($3))
    ORDER BY ready.seq
    LIMIT 1
) AS ready
ORDER BY ready.seq
