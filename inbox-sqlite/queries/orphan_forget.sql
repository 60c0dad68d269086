-- Hosts that nobody has heard of for long.
DELETE FROM inbox_host WHERE seen_at <= ?1
