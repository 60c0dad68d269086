let_go AS (
    DELETE FROM :schema.held WHERE ctid = ANY (ARRAY(
        SELECT row FROM mine
        UNION ALL
        -- One that was cancelled while this waited for it is where this statement cannot see it yet. It is
        -- found from where it was.
        SELECT was.row
        FROM mine
        CROSS JOIN LATERAL (
            SELECT ctid AS row
            FROM :schema.held AS held
            WHERE held.lease_id = mine.lease_id AND held.message_id = mine.message_id
            LIMIT 1
        ) AS was
        WHERE mine.cancel
    ))
)
