DELETE FROM inbox_host WHERE name = ?1
