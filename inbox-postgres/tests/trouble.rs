//! Rows and moments that other queues stumbled over: one bad row, one held row, one conflict must be the
//! trouble of that row alone.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use inbox::postgres::PostgresStore;
use inbox::schedule::ScheduleOptions;
use inbox::settle::{DoneOutcome, Settlement};
use inbox::store::{
    DeliveryState, Inspect as _, Lease, LeaseRequest, LeaseStore as _, Maintain as _, Now, Settle,
    StateStore as _, Terms, Wanted,
};
use inbox::{Inbox, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
}

#[handler(key = "pay", max_attempts = 3, retry(initial = "1ms"))]
async fn pay(_command: Pay) {}

async fn application() -> (PostgresDatabase, Inbox<PostgresStore>) {
    let database = PostgresDatabase::create().await.unwrap();
    let options = reach::options().connections(12).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    (database, Inbox::builder(store).build().await.unwrap())
}

async fn execute(database: &PostgresDatabase, sql: &str) {
    database.connect().await.unwrap().batch_execute(sql).await.unwrap();
}

async fn schedule(inbox: &Inbox<PostgresStore>, count: u64) {
    let commands = (0..count).map(|id| (Pay { id }, ScheduleOptions::new()));
    inbox.scheduler().schedule_bulk(commands).await.unwrap();
}

/// How long leases hold: longer than any machine takes.
const HOLD: Duration = Duration::from_hours(1);

async fn lease(inbox: &Inbox<PostgresStore>, limit: u32) -> Vec<Lease> {
    let limit = NonZeroU32::new(limit).unwrap();
    let wanted = Wanted {
        handler_key: "pay".to_owned(),
        versions: vec![1],
        limit,
        max_crashes: NonZeroU32::new(3).unwrap(),
        terms: Terms::default(),
    };
    let (host, duration) = ("host".to_owned(), HOLD);
    let request = LeaseRequest::new(host, duration, vec![wanted]);
    inbox.store().lease(request, Now::OfStore).await.unwrap()
}

async fn count(inbox: &Inbox<PostgresStore>, state: DeliveryState) -> u64 {
    let counts = inbox.store().counts().await.unwrap();
    counts.iter().filter(|count| count.state == state).map(|count| count.count).sum()
}

#[tokio::test]
async fn a_delivery_that_is_in_two_places_keeps_no_other_from_moving() {
    let (database, inbox) = application().await;
    schedule(&inbox, 3).await;
    // By whatever accident, one that is ready also waits, is held, and is dead.
    let one = "FROM inbox.ready ORDER BY seq LIMIT 1";
    execute(
        &database,
        &format!(
            "INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason)
             SELECT message_id, handler_key, 1, 1, '2001-01-01', 'delay' {one};
             INSERT INTO inbox.lease (id, host, handler_key, alone, max_crashes, expires_at)
             SELECT '01900000-0000-7000-8000-0000000000aa', 'gone', handler_key, false, 3, '2001-01-01' {one};
             INSERT INTO inbox.held (lease_id, message_id, leased_at, version, attempt, crashes, priority,
                 limited, blocks, handler_key, first_key, tenant, position)
             SELECT '01900000-0000-7000-8000-0000000000aa', unnest(ARRAY[message_id, gen_random_uuid()]),
                 '2001-01-01', 1, 1, 0, 1, false, true, 'pay', 'pay', '', 1
             FROM (SELECT message_id {one}) AS one;
             INSERT INTO inbox.dead (message_id, handler_key, version, priority, attempts, reason,
                 error_type, error, dead_at, position)
             SELECT message_id, handler_key, 1, 1, 1, 'x', 'x', 'x', '2001-01-01', 1 {one};
             INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason)
             VALUES (gen_random_uuid(), 'pay', 1, 1, '2001-01-02', 'delay')"
        ),
    )
    .await;
    let store = inbox.store();
    assert_eq!(store.promote(10, Now::OfStore).await.unwrap(), 2, "the other one moved too");
    assert_eq!(store.reclaim(10, Now::OfStore).await.unwrap().returned(), 2);
    let dead = inbox.list(inbox::store::DeliveryFilter::in_state(DeliveryState::Dead)).await;
    let dead = dead.unwrap().deliveries[0].clone();
    assert!(inbox.retry(dead.message_id, "pay").await.unwrap());
    // Three that were ready, one that waited and one that was held: none twice.
    assert_eq!(count(&inbox, DeliveryState::Pending).await, 5);
}

#[tokio::test]
async fn a_page_of_rows_that_someone_holds_hides_none_behind_it() {
    let (database, inbox) = application().await;
    schedule(&inbox, 20).await;
    for _ in 0..20 {
        lease(&inbox, 1).await;
    }
    execute(&database, "UPDATE inbox.lease SET expires_at = '2001-01-01'").await;
    // Someone looks at the ten that come first, and does not let go.
    let mut holder = database.connect().await.unwrap();
    let holding = holder.transaction().await.unwrap();
    let first = "SELECT 1 FROM inbox.lease ORDER BY expires_at, id LIMIT 10 FOR UPDATE";
    holding.batch_execute(first).await.unwrap();
    let mut returned = 0;
    for _ in 0..3 {
        returned += inbox.store().reclaim(5, Now::OfStore).await.unwrap().returned();
    }
    assert_eq!(returned, 10, "those behind come back");
    execute(
        &database,
        "INSERT INTO inbox.waiting (message_id, handler_key, version, priority, due_at, reason)
         SELECT gen_random_uuid(), 'pay', 1, 1, '2001-01-01'::timestamptz + n * interval '1 s', 'delay'
         FROM generate_series(1, 20) AS n",
    )
    .await;
    let first = "SELECT 1 FROM inbox.waiting ORDER BY due_at LIMIT 10 FOR UPDATE";
    holding.batch_execute(first).await.unwrap();
    assert_eq!(inbox.store().promote(5, Now::OfStore).await.unwrap(), 5);
    holding.rollback().await.unwrap();
    assert_eq!(inbox.store().reclaim(100, Now::OfStore).await.unwrap().returned(), 10);
    assert_eq!(inbox.store().promote(100, Now::OfStore).await.unwrap(), 15);
}

#[tokio::test]
async fn a_reclaim_moves_as_many_as_it_was_told_whatever_leases_hold() {
    let (database, inbox) = application().await;
    schedule(&inbox, 100).await;
    for _ in 0..10 {
        lease(&inbox, 10).await;
    }
    execute(&database, "UPDATE inbox.lease SET expires_at = '2001-01-01'").await;
    for returned in [15, 15, 15, 15, 15, 15, 10, 0] {
        let reclaimed = inbox.store().reclaim(15, Now::OfStore).await.unwrap();
        assert_eq!(reclaimed.returned(), returned);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_touch_the_same_leases_at_once_do_not_deadlock() {
    let (database, inbox) = application().await;
    schedule(&inbox, 400).await;
    let mut leases = Vec::new();
    for _ in 0..40 {
        leases.extend(lease(&inbox, 10).await);
    }
    let leases = Arc::new(leases);
    let barrier = Arc::new(Barrier::new(8));
    let mut tasks = Vec::new();
    for nth in 0..8_usize {
        let (inbox, leases, barrier) = (inbox.clone(), Arc::clone(&leases), Arc::clone(&barrier));
        tasks.push(tokio::spawn(async move {
            for at in 0..10 {
                // Each names the same leases in an order of its own.
                let mut all: Vec<_> = leases.iter().collect();
                all.rotate_left(nth * 5);
                if nth % 2 == 0 {
                    all.reverse();
                }
                let tokens = all.iter().map(|lease| lease.token).collect();
                barrier.wait().await;
                if nth < 4 {
                    inbox.store().renew(tokens, HOLD, Now::OfStore).await.unwrap();
                    let id = all[at].deliveries[at].message.id;
                    inbox.cancel(id).await.unwrap();
                    continue;
                }
                let done = Settlement::Done(DoneOutcome::Completed);
                let settle =
                    |lease: &&Lease| Settle::new(lease.token, &lease.deliveries[at], done.clone());
                let settles = all.iter().map(settle).collect();
                inbox.store().settle(settles, Now::OfStore).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(count(&inbox, DeliveryState::Completed).await, 400);
    let client = database.connect().await.unwrap();
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(client.query_one(deadlocks, &[]).await.unwrap().get::<_, i64>(0), 0);
}

/// Makes the next `count` writes to a table fail as the server does under load.
async fn fail_next(database: &PostgresDatabase, table: &str, code: &str, count: u32) {
    execute(
        database,
        &format!(
            "CREATE SEQUENCE IF NOT EXISTS failures;
             SELECT setval('failures', 1, false);
             CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF nextval('failures') <= {count} THEN
                     RAISE EXCEPTION 'the test says no' USING ERRCODE = '{code}';
                 END IF;
                 RETURN NEW;
             END $$;
             CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON inbox.{table}
                 FOR EACH ROW EXECUTE FUNCTION fail()"
        ),
    )
    .await;
}

#[tokio::test]
async fn a_settle_that_meets_another_transaction_is_written_again_and_once() {
    let (database, inbox) = application().await;
    for code in ["40001", "40P01", "55P03"] {
        schedule(&inbox, 1).await;
        let before = count(&inbox, DeliveryState::Completed).await;
        fail_next(&database, "done_default", code, 2).await;
        let report = inbox.process_pending().await.unwrap();
        assert_eq!((report.completed, report.lost), (1, 0), "{code}");
        assert_eq!(count(&inbox, DeliveryState::Completed).await, before + 1);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_dead_and_its_neighbours_are_handled() {
    let (database, inbox) = application().await;
    schedule(&inbox, 5).await;
    let nth =
        |n: u32| format!("(SELECT message_id FROM inbox.ready ORDER BY seq OFFSET {n} LIMIT 1)");
    execute(
        &database,
        &format!(
            "UPDATE inbox.message SET payload = '{{\"id\": \"seven\"}}' WHERE id = {};
             UPDATE inbox.message SET headers = '{{\"a\": 1}}' WHERE id = {};
             DELETE FROM inbox.message WHERE id = {}",
            nth(0),
            nth(2),
            nth(3)
        ),
    )
    .await;
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.completed, report.dead), (2, 3));
    let dead = inbox.list(inbox::store::DeliveryFilter::in_state(DeliveryState::Dead)).await;
    let reasons: Vec<_> = dead.unwrap().deliveries.into_iter().filter_map(|d| d.reason).collect();
    assert_eq!(reasons, ["undecodable", "unreadable", "unreadable"]);
    assert_eq!(inbox.process_pending().await.unwrap().leased, 0, "none of them is tried for ever");
}
