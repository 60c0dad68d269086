-- Whether a process of the server is still at work on what a connection sent it, or waits for more of it.
SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE pid = $1 AND state <> 'idle'
