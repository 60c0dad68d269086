-- When the first of those that wait for a moment is due.
SELECT due_at FROM inbox_waiting WHERE handler_key <> '' ORDER BY due_at LIMIT 1
