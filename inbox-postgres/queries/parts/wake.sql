woken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM next)) RETURNING *
),
made_ready AS (
    INSERT INTO :schema.ready ({{delivery}}, position, attempts, crashes, carry)
    SELECT {{delivery}}, position, attempts, crashes, carry
    FROM woken
    ORDER BY position
)
