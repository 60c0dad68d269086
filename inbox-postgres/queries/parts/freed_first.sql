(
    SELECT * FROM unnest($1::text[]) AS given (first_key)
)
