-- lease → lease that is not renewed any more, if something is still held under it.
UPDATE inbox_lease SET reclaimed = 1 WHERE token = ?1
