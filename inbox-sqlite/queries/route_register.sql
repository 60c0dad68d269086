-- A key that was superseded stays so.
INSERT INTO inbox_route (contract, handler_key, context, registered_at, blocks)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO UPDATE SET blocks = excluded.blocks
