-- A lease goes when nothing is held under it any more. Two that end parts of one at the same moment both leave it:
-- then it expires, empty. Nobody waits for it.
over AS MATERIALIZED (
    SELECT lease.row
    FROM (SELECT DISTINCT lease_id FROM mine) AS touched
    CROSS JOIN LATERAL (
        SELECT lease.ctid AS row
        FROM :schema.lease AS lease
        WHERE lease.id = touched.lease_id AND (
            SELECT true
            FROM :schema.held AS held
            WHERE held.lease_id = touched.lease_id
              AND (held.lease_id, held.message_id) NOT IN (SELECT lease_id, message_id FROM mine)
            LIMIT 1
        ) IS NULL
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS lease
),
ended AS (
    DELETE FROM :schema.lease WHERE ctid = ANY (ARRAY(SELECT row FROM over))
),
{{let_go}}
