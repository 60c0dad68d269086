made_ready AS (
    INSERT INTO :schema.ready ({{delivery}})
    SELECT {{delivery}}
    FROM delivery
    WHERE handler_key <> '' AND due_at <= accepted_at
    ORDER BY place, handler_key
),
made_waiting AS (
    INSERT INTO :schema.waiting ({{delivery}}, contract, due_at, reason)
    SELECT {{delivery}}, contract, due_at, CASE WHEN handler_key = '' THEN 'no-route' ELSE 'delay' END
    FROM delivery
    WHERE handler_key = '' OR due_at > accepted_at
    ORDER BY place
)
