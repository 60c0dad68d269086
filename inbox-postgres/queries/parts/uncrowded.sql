crowded AS NOT MATERIALIZED (
    SELECT lane FROM next WHERE $per_key IS NOT NULL AND false
)
