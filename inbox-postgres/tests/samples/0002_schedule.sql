-- What the function accepted, with the rights of its owner, and finds again; of two tenants.
SELECT inbox.schedule('sample', 1, '{"place": "function"}', idempotency_key => 'function');
SELECT * FROM inbox.accepted(ARRAY[gen_random_uuid()], ARRAY[''], ARRAY['sample'], ARRAY['function']);
SELECT inbox.schedule('sample', 1, '{"place": "tenant"}', tenant => tenant, notify => true)
FROM unnest(ARRAY['acme', 'bolt']) AS tenants (tenant);

-- Two of one lane, of which the second waits behind the first.
SELECT inbox.schedule('sample', 1, '{"place": "head"}', ordering_key => 'lane', tenant => 'acme',
                      id => '01900000-0000-7000-8000-000000000011');
SELECT inbox.schedule('sample', 1, '{"place": "behind"}', ordering_key => 'lane', tenant => 'acme',
                      id => '01900000-0000-7000-8000-000000000012');
INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
VALUES ('sample', 'acme', 'lane', '01900000-0000-7000-8000-000000000011', 'sample', '2026-01-01');
WITH moved AS (
    DELETE FROM inbox.ready WHERE message_id = '01900000-0000-7000-8000-000000000012' RETURNING *
)
INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason, tenant, ordering_key,
                           first_key, position)
SELECT message_id, handler_key, version, priority, '2026-01-01', 'lane', tenant, ordering_key, handler_key, position
FROM moved;
