(
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS given (first_key, tenant, concurrency_key)
)
