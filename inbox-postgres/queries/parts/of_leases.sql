    SELECT lane.ctid AS row, lane.* FROM :schema.lane AS lane WHERE lane.lease_id = ANY ($2::uuid[])
