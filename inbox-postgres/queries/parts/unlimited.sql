granted AS NOT MATERIALIZED (
    SELECT row FROM fit
),
crowded AS MATERIALIZED (
    SELECT row, message_id FROM fit WHERE false
)
