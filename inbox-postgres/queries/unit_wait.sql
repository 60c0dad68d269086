-- Waits for whoever settles under these leases. What became of them is then seen by the next statement.
SELECT count(*) FROM (SELECT FROM :schema.lease WHERE token = ANY ($1::uuid[]) FOR SHARE) AS held
