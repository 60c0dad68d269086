-- A route of the same context as the others.
INSERT INTO inbox.route (contract, handler_key, registered_at, context)
VALUES ('other', 'other', '2026-01-01', '');
