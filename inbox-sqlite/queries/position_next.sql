-- A position in a lane, behind all that were given before.
UPDATE inbox_position SET last = last + 1 RETURNING last
