SELECT coalesce($1::timestamptz, clock_timestamp())
