-- Nobody is left in the lane.
DELETE FROM inbox_lane WHERE first_key = ?1 AND tenant = ?2 AND ordering_key = ?3
