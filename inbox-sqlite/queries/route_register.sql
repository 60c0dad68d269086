-- A key that was superseded stays so.
INSERT INTO inbox_route (contract, handler_key, context, registered_at)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO NOTHING
