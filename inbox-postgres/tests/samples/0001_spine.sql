-- A message in each place where it can be after this migration.
INSERT INTO inbox.route (contract, handler_key, registered_at)
VALUES ('sample', 'sample', '2026-01-01');

INSERT INTO inbox.message (id, tenant, contract, version, payload, headers, idempotency_key,
                           ordering_key, concurrency_key, correlation_id, causation_id, accepted_at)
SELECT format('01900000-0000-7000-8000-%s', lpad(place::text, 12, '0'))::uuid, 'acme', 'sample', 1,
       jsonb_build_object('place', name), '{"trace": "abc"}', name, 'order', 'shop', 'a', 'b',
       '2026-01-01'
FROM unnest(ARRAY['ready', 'lease', 'waiting', 'no-route', 'dead', 'done'])
     WITH ORDINALITY AS places (name, place);

INSERT INTO inbox.ready (handler_key, priority, version, message_id)
VALUES ('sample', 1, 1, '01900000-0000-7000-8000-000000000001');

INSERT INTO inbox.lease (token, host, handler_key, suspect, max_attempts, leased_at, expires_at,
                         message_ids, versions, priorities, attempts, delayed_retries, open, cancel)
VALUES ('01900000-0000-7000-8000-0000000000aa', 'gone', 'sample', false, 5, '2026-01-01',
        '2026-01-02', ARRAY['01900000-0000-7000-8000-000000000002'::uuid], ARRAY[1],
        ARRAY[3::smallint], ARRAY[1], ARRAY[0], B'1', B'0');

INSERT INTO inbox.waiting (message_id, handler_key, contract, version, priority, attempts,
                           delayed_retries, due_at, reason, error)
VALUES ('01900000-0000-7000-8000-000000000003', 'sample', '', 1, 0, 1, 1, '2026-01-02', 'retry', 'no'),
       ('01900000-0000-7000-8000-000000000004', '', 'sample', 1, 1, 0, 0, '2026-01-01', 'no-route',
        NULL);

INSERT INTO inbox.dead (message_id, handler_key, version, priority, attempts, reason, error_type,
                        error, dead_at)
VALUES ('01900000-0000-7000-8000-000000000005', 'sample', 1, 1, 5, 'attempts', 'String', 'no',
        '2026-01-02');

INSERT INTO inbox.attempt (message_id, handler_key, attempt, leased_at, settled_at, error_type, error)
VALUES ('01900000-0000-7000-8000-000000000005', 'sample', 5, '2026-01-01', '2026-01-02', 'String',
        'no');

INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
VALUES ('01900000-0000-7000-8000-000000000006', 'sample', 'completed', 1, '1 second', '2026-01-02');
