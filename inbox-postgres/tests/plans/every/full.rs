//! Tables that are full: some hundred thousand rows in each place that a delivery can be in.

use inbox_postgres::tokio_postgres::Client;

use crate::database::ID;

/// The id of the message with this number.
pub(super) fn message(number: u32) -> String {
    format!("00000000-0000-7000-8000-{number:012x}")
}

/// The id of the lease with this number.
pub(super) fn lease(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// The id of the lease with the number `n`.
const LEASE: &str = "('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid";

/// What stays: more of each than any statement is asked for, by far.
///
/// - Every message is done by `book`, and has the key of its number.
/// - There are 10,000 lanes of `ship`. Of 9,000 a run is on, those of 1,000 have a head that is done, dead or lost.
///   One lease has won another 50.
/// - A thousand are staged, to be accepted.
pub(super) async fn history(client: &Client) {
    fill(client, &[FLEET, MESSAGES, LANES, OVER, STAGED]).await;
}

/// What comes and goes.
///
/// - `charge` has 100,000 ready, of which the last 500 are of the tenant `acme`; `gone`, which nobody serves,
///   20,000; and `ship` 100,000: by turns in a lane of their own with one other, behind a lane with a head, in
///   the lane `deep`, and in none.
/// - 100,000 wait for each reason. Behind the lane 7 there are 50,000, and as many wait for the key of message
///   200,007; few have become due, or have a route by now.
/// - `ship` holds 49,000 under 500 leases, of which 10 have expired. The first 9,000 are of the lanes of which a run is on.
pub(super) async fn work(client: &Client) {
    fill(client, &[READY, WAITING, HELD]).await;
}

/// Takes what comes and goes away again, and lets PostgreSQL know.
pub(super) async fn drain(client: &Client) {
    for table in ["ready", "waiting", "held", "lease"] {
        client.batch_execute(&format!("DELETE FROM inbox.{table}")).await.unwrap();
    }
    client.batch_execute("VACUUM ANALYZE").await.unwrap();
}

async fn fill(client: &Client, places: &[&str]) {
    for place in places {
        let place = place.replace("{ID}", ID).replace("{LEASE}", LEASE);
        client.batch_execute(&place).await.unwrap();
    }
}

const FLEET: &str = "
    INSERT INTO inbox.route (contract, handler_key, registered_at, first_key, superseded_by)
    VALUES ('pay', 'book', now(), 'book', NULL), ('pay', 'charge', now(), 'charge', NULL),
           ('pay', 'gone', now(), 'gone', NULL), ('pay', 'ship', now(), 'ship', 'pack'),
           ('pay', 'pack', now(), 'ship', NULL), ('pay', 'fresh', now(), '', NULL);
    INSERT INTO inbox.host (name, started_at, seen_at, serves)
    SELECT 'host', now(), now(), jsonb_object_agg(handler_key, '[1]'::jsonb)
    FROM inbox.route
    WHERE handler_key <> 'gone';
    INSERT INTO inbox.host (name, started_at, seen_at, serves)
    VALUES ('former', now(), now() - interval '1 year', '{\"gone\": [1]}');
    INSERT INTO inbox.orphan (handler_key, since, seen_at)
    VALUES ('gone', now() - interval '1 year', now()), ('charge', now(), now())";

const MESSAGES: &str = "
    INSERT INTO inbox.message (id, contract, version, payload, idempotency_key, ordering_key,
                               concurrency_key, accepted_at)
    SELECT {ID}, 'pay', 1, '{}', 'key-' || n,
           CASE WHEN n BETWEEN 200001 AND 210000 THEN 'lane-' || n - 200000 END,
           CASE WHEN n BETWEEN 200001 AND 250000 THEN 'user-' || n END, now()
    FROM generate_series(1, 300000) AS n;
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT {ID}, 'book', 'completed', 1, '1 ms', '2026-01-01' FROM generate_series(1, 300000) AS n";

const READY: &str = "
    INSERT INTO inbox.ready (handler_key, priority, version, message_id, tenant)
    SELECT 'charge', 1, 1, {ID}, CASE WHEN n > 99500 THEN 'acme' ELSE '' END
    FROM generate_series(1, 100000) AS n;
    INSERT INTO inbox.ready (handler_key, priority, version, message_id, ordering_key, concurrency_key)
    SELECT 'ship', 1, 1, {ID}, CASE n % 4
               WHEN 0 THEN 'own-' || n / 8
               WHEN 1 THEN 'lane-' || n % 8000 + 1
               WHEN 2 THEN 'deep'
           END, 'user-' || n % 5000
    FROM generate_series(100001, 200000) AS n;
    INSERT INTO inbox.ready (handler_key, priority, version, message_id, ordering_key, crashes)
    SELECT 'gone', 1, 1, {ID}, CASE n % 2 WHEN 0 THEN 'lane-' || n / 4 END, n / 5000
    FROM generate_series(1, 20000) AS n";

const WAITING: &str = "
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason)
    SELECT {ID}, 'charge', 1, 1, now() + interval '1 hour' * (n - 201000), 'delay'
    FROM generate_series(200001, 300000) AS n;
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason, error)
    SELECT {ID}, 'refund', 1, 1, now() + interval '1 day', 'retry', 'x' FROM generate_series(1, 100000) AS n;
    INSERT INTO inbox.waiting (message_id, contract, version, priority, due_at, reason)
    SELECT {ID}, CASE WHEN n > 299000 THEN 'pay' ELSE 'nowhere' END, 1, 1, now(), 'no-route'
    FROM generate_series(200001, 300000) AS n;
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason, first_key, position,
                               ordering_key)
    SELECT {ID}, 'ship', 1, 1, now(), 'lane', 'ship', n, CASE
               WHEN n <= 50000 THEN 'lane-7'
               WHEN n <= 99990 THEN 'lane-' || 8001 + n % 2000
               ELSE 'ended-' || n
           END
    FROM generate_series(1, 100000) AS n;
    INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason, first_key, position,
                               concurrency_key)
    SELECT {ID}, 'pack', 1, 1, now(), 'limit', 'ship', n, CASE
               WHEN n <= 50000 THEN 'user-200007'
               WHEN n <= 99990 THEN 'user-' || 200101 + n % 1000
               ELSE 'free-' || n
           END
    FROM generate_series(1, 100000) AS n";

const HELD: &str = "
    INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
    SELECT {LEASE}, 'host', 'ship', false, 3, now() + interval '1 day' * (n - 10)
    FROM generate_series(1, 500) AS n;
    INSERT INTO inbox.held (lease_id, message_id, leased_at, version, attempt, crashes, priority, limited,
                            blocks, handler_key, first_key, tenant, position, ordering_key, concurrency_key)
    SELECT lease.id, {ID}, now(), 1, 1, 0, 1, true, true, 'ship', 'ship', '', n,
           CASE WHEN n <= 209000 THEN 'lane-' || n - 200000 END, 'user-' || n
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS nth FROM inbox.lease) AS lease
    CROSS JOIN LATERAL generate_series(200001 + (lease.nth - 1) * 100, 200000 + lease.nth * 100) AS n
    WHERE n NOT BETWEEN 209001 AND 210000";

const LANES: &str = "
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, lease_id, since)
    SELECT 'ship', '', 'lane-' || lane, {LEASE}, now()
    FROM generate_series(1, 9000) AS lane, LATERAL (SELECT (lane + 99) / 100 AS n) AS lease;
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT 'ship', '', 'lane-' || n - 200000, {ID}, 'ship', now()
    FROM generate_series(209001, 210000) AS n;
    INSERT INTO inbox.lane (handler_key, tenant, ordering_key, lease_id, since)
    SELECT 'ship', '', 'own-' || lane, {LEASE}, now()
    FROM generate_series(20001, 20050) AS lane, (VALUES (999)) AS lease (n)";

const OVER: &str = "
    INSERT INTO inbox.done (message_id, handler_key, outcome, attempts, took, done_at)
    SELECT {ID}, 'ship', 'completed', 1, '1 ms', now() FROM generate_series(209001, 209900) AS n;
    INSERT INTO inbox.dead (message_id, handler_key, version, priority, attempts, reason, error_type, error,
                            dead_at, blocks, position)
    SELECT {ID}, 'ship', 1, 1, 1, 'x', 'x', 'x', now(), n % 2 = 0, n
    FROM generate_series(209901, 209990) AS n;
    INSERT INTO inbox.dead (message_id, handler_key, version, priority, attempts, reason, error_type, error,
                            dead_at, position)
    SELECT {ID}, 'charge', 1, 1, 1, 'x', 'x', 'x', now(), n FROM generate_series(100001, 150000) AS n;
    INSERT INTO inbox.attempt (message_id, handler_key, attempt, leased_at, settled_at, error_type, error)
    SELECT {ID}, 'charge', 1, now(), now(), 'x', 'x' FROM generate_series(100001, 200000) AS n";

const STAGED: &str = "
    INSERT INTO pg_temp.inbox_bulk (id, tenant, contract, version, payload, headers, accepted_at,
                                    idempotency_key, place, priority, due_at)
    SELECT gen_random_uuid(), '', 'pay', 1, '{}', '{}', now(), 'bulk-' || n, n, 1, now()
    FROM generate_series(1, 1000) AS n";
