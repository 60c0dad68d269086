-- Nothing new is stored under this key any more.
INSERT INTO inbox_route (contract, handler_key, superseded_by, context, registered_at)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO UPDATE SET superseded_by = excluded.superseded_by
