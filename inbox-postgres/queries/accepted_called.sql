-- The messages that envelopes repeat, as accepted_before.sql finds them, by the function that a writer may
-- call.
SELECT * FROM :schema.accepted($1::uuid[], $2::text[], $3::text[], $4::text[])
