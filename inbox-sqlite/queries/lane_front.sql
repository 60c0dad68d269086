-- A delivery comes to the front of its lane, or goes behind.
UPDATE inbox_ready SET behind = ?2 WHERE seq = ?1
