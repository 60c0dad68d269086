-- What one of two tenants sent, and a route that belongs to the same context as the other.
INSERT INTO inbox.route (contract, handler_key, registered_at, context)
VALUES ('other', 'other', '2026-01-01', '');

SELECT inbox.schedule('sample', 1, '{"place": "tenant"}', tenant => tenant, notify => true)
FROM unnest(ARRAY['acme', 'bolt']) AS tenants (tenant);
