crowded AS NOT MATERIALIZED (
    SELECT NULL::tid AS lane WHERE false
)
