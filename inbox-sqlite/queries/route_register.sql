-- A key that was superseded stays so.
INSERT INTO inbox_route (contract, handler_key, registered_at)
VALUES (?1, ?2, ?3)
ON CONFLICT DO NOTHING
