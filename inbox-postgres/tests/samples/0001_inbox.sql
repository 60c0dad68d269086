-- A message in each place where it can be.
INSERT INTO inbox.route (contract, handler_key, registered_at)
VALUES ('sample', 'sample', '2026-01-01');

INSERT INTO inbox.message (id, tenant, contract, version, payload, headers, idempotency_key,
                           ordering_key, concurrency_key, correlation_id, causation_id, accepted_at)
SELECT format('01900000-0000-7000-8000-%s', lpad(place::text, 12, '0'))::uuid, 'acme', 'sample', 1,
       jsonb_build_object('place', name), '{"trace": "abc"}', name, 'order', 'shop', 'a', 'b',
       '2026-01-01'
FROM unnest(ARRAY['ready', 'held', 'waiting', 'no-route', 'dead', 'done', 'quarantined'])
     WITH ORDINALITY AS places (name, place);

INSERT INTO inbox.ready (handler_key, priority, version, message_id, attempts, crashes, carry)
VALUES ('sample', 1, 1, '01900000-0000-7000-8000-000000000001', 1, 1, '{"retries": 1}'),
       ('sample', 1, 1, '01900000-0000-7000-8000-000000000007', 0, 2, NULL);

INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
VALUES ('01900000-0000-7000-8000-0000000000aa', 'gone', 'sample', false, 5, '2026-01-02');

INSERT INTO inbox.held (lease_id, message_id, leased_at, version, attempt, crashes, priority, limited, blocks,
                        handler_key, first_key, tenant, position)
VALUES ('01900000-0000-7000-8000-0000000000aa', '01900000-0000-7000-8000-000000000002', '2026-01-01', 1, 1, 0, 3,
        false, true, 'sample', 'sample', '', 2);

INSERT INTO inbox.waiting (message_id, handler_key, contract, version, priority, attempts, due_at, reason, error,
                           carry)
VALUES ('01900000-0000-7000-8000-000000000003', 'sample', '', 1, 0, 1, '2026-01-02', 'retry', 'no',
        '{"retries": 1}'),
       ('01900000-0000-7000-8000-000000000004', '', 'sample', 1, 1, 0, '2026-01-01', 'no-route', NULL, NULL);

INSERT INTO inbox.dead (message_id, handler_key, version, priority, attempts, reason, error_type,
                        error, dead_at, position)
VALUES ('01900000-0000-7000-8000-000000000005', 'sample', 1, 1, 5, 'attempts', 'String', 'no',
        '2026-01-02', 5);

INSERT INTO inbox.attempt (message_id, handler_key, attempt, host, leased_at, settled_at, error_type, error)
VALUES ('01900000-0000-7000-8000-000000000005', 'sample', 5, 'gone', '2026-01-01', '2026-01-02', 'String',
        'no');

INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
VALUES ('01900000-0000-7000-8000-000000000006', 'sample', 'completed', 1, '1 second', '2026-01-02');

-- A key that was retired and one whose renaming was undone; a host, and a key that it does not serve.
INSERT INTO inbox.route (contract, handler_key, superseded_by, retired, registered_at)
VALUES ('other', 'other', NULL, false, '2026-01-01'),
       ('other', 'retired', '', true, '2026-01-01'),
       ('other', 'renamed', 'other', true, '2026-01-01');

INSERT INTO inbox.host (name, started_at, seen_at, serves)
VALUES ('gone', '2026-01-01', '2026-01-02', '{"sample": [1, 2]}');

INSERT INTO inbox.orphan (handler_key, since, seen_at) VALUES ('other', '2026-01-01', '2026-01-02');
