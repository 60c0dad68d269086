//! Rows that another program damaged, a disk that fills up, a worker that stops waiting.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use inbox::schedule::ScheduleError;
use inbox::sqlite::rusqlite::{Connection, params};
use inbox::sqlite::{SqliteOptions, SqliteStore, open};
use inbox::store::{
    DeliveryFilter, DeliveryState, Inspect as _, LeaseRequest, LeaseStore as _, Now,
    StateStore as _, StoreErrorKind, Terms, Wanted,
};
use inbox::{Inbox, MessageId, ScheduleOptions, handler, inbox_contract};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

#[inbox_contract(name = "note", version = 1)]
#[derive(Serialize, Deserialize)]
struct Note {
    text: String,
}

#[handler(key = "note")]
async fn note(_command: Note) {}

struct Place {
    path: PathBuf,
    _directory: TempDir,
}

fn place() -> Place {
    let directory = TempDir::new().unwrap();
    Place { path: directory.path().join("inbox.db"), _directory: directory }
}

async fn inbox(place: &Place) -> Inbox<SqliteStore> {
    Inbox::builder(open(&place.path).await.unwrap()).build().await.unwrap()
}

async fn schedule(inbox: &Inbox<SqliteStore>, text: &str) -> MessageId {
    let command = Note { text: text.to_owned() };
    let receipt = inbox.scheduler().schedule(command, ScheduleOptions::new()).await.unwrap();
    receipt.message_id()
}

fn damage(place: &Place, id: MessageId, sql: &str) {
    let connection = Connection::open(&place.path).unwrap();
    connection.execute_batch("PRAGMA ignore_check_constraints = ON").unwrap();
    let changed = connection.execute(sql, params![id.as_u128().to_be_bytes()]).unwrap();
    assert_eq!(changed, 1, "{sql}");
}

#[tokio::test]
async fn a_damaged_row_is_dead_lettered_alone_with_its_true_error() {
    for (sql, reason, error) in [
        ("UPDATE inbox_message SET payload = '{' WHERE id = ?1", "undecodable", "EOF"),
        ("UPDATE inbox_message SET payload = '' WHERE id = ?1", "undecodable", "EOF"),
        ("UPDATE inbox_message SET payload = x'ff' WHERE id = ?1", "undecodable", "expected value"),
        ("UPDATE inbox_message SET payload = '{}' WHERE id = ?1", "undecodable", "`text`"),
        ("UPDATE inbox_message SET payload = 7 WHERE id = ?1", "unreadable", "payload"),
        ("UPDATE inbox_message SET headers = '[' WHERE id = ?1", "unreadable", "headers"),
        ("UPDATE inbox_message SET version = -1 WHERE id = ?1", "unreadable", "out of range"),
        ("DELETE FROM inbox_message WHERE id = ?1", "unreadable", "is gone"),
        ("UPDATE inbox_ready SET carry = '{' WHERE message_id = ?1", "unreadable", "carry"),
        (
            "UPDATE inbox_message SET payload = '\"' || hex(zeroblob(1 << 20)) || '\"' WHERE id = ?1",
            "undecodable",
            "more than the 1048576 this host reads",
        ),
    ] {
        let place = place();
        let inbox = inbox(&place).await;
        schedule(&inbox, "before").await;
        let id = schedule(&inbox, "damaged").await;
        schedule(&inbox, "after").await;
        damage(&place, id, sql);
        let report = inbox.process_pending().await.unwrap();
        assert_eq!((report.leased, report.completed, report.dead), (3, 2, 1), "{sql}");
        let dead = DeliveryFilter::in_state(DeliveryState::Dead);
        let dead = inbox.store().list(dead).await.unwrap().deliveries.remove(0);
        assert_eq!((dead.message_id, dead.reason.as_deref()), (id, Some(reason)), "{sql}");
        assert!(dead.error.as_deref().unwrap().contains(error), "{sql}: {:?}", dead.error);
    }
}

#[tokio::test]
async fn an_unknown_version_in_the_table_costs_nobody_an_attempt() {
    let place = place();
    let inbox = inbox(&place).await;
    let id = schedule(&inbox, "from a newer program").await;
    damage(&place, id, "UPDATE inbox_ready SET version = 9 WHERE message_id = ?1");
    schedule(&inbox, "known").await;
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.leased, report.completed), (1, 1));
    let waits = inbox.status(id).await.unwrap().unwrap().deliveries.remove(0);
    assert_eq!((waits.state, waits.attempts), (DeliveryState::Pending, 0));
}

#[tokio::test]
async fn a_full_disk_refuses_what_does_not_fit_and_loses_nothing() {
    let place = place();
    let store = SqliteOptions::new().max_size(400 * 1024).open(&place.path).await.unwrap();
    let inbox = Inbox::builder(store).build().await.unwrap();
    let mut accepted = Vec::new();
    let error = loop {
        let command = Note { text: "x".repeat(20_000) };
        match inbox.scheduler().schedule(command, ScheduleOptions::new()).await {
            Ok(receipt) => accepted.push(receipt.message_id()),
            Err(error) => break error,
        }
        assert!(accepted.len() < 100, "the disk never fills up");
    };
    let ScheduleError::Store(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), StoreErrorKind::Full);
    assert!(error.to_string().contains("has no room left"), "{error}");
    assert!(!accepted.is_empty());
    drop(inbox);
    // With room again, all that was accepted is there and is handled.
    let inbox = self::inbox(&place).await;
    assert_eq!(inbox.process_pending().await.unwrap().completed, accepted.len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_fit_harms_none_that_is_committed_with_it() {
    let place = place();
    let store = SqliteOptions::new().max_size(400 * 1024).open(&place.path).await.unwrap();
    let inbox = Inbox::builder(store).build().await.unwrap();
    // All at once, so that some of them share a transaction with the large one.
    let schedule = |size: usize| {
        let scheduler = inbox.scheduler().clone();
        let command = Note { text: "x".repeat(size) };
        tokio::spawn(async move { scheduler.schedule(command, ScheduleOptions::new()).await })
    };
    let calls: Vec<_> =
        (0..200).map(|at| schedule(if at % 10 == 5 { 900_000 } else { 10 })).collect();
    let mut refused = 0;
    for (at, call) in calls.into_iter().enumerate() {
        match call.await.unwrap() {
            Ok(_) => assert!(at % 10 != 5),
            Err(ScheduleError::Store(error)) => {
                assert_eq!((at % 10, error.kind()), (5, StoreErrorKind::Full), "{error}");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(refused, 20);
}

#[tokio::test]
async fn a_delivery_that_someone_doubled_keeps_no_other_waiting() {
    let place = place();
    let inbox = inbox(&place).await;
    let id = schedule(&inbox, "doubled").await;
    damage(
        &place,
        id,
        "INSERT INTO inbox_waiting (message_id, handler_key, version, priority, due_at, reason)
         VALUES (?1, 'note', 1, 1, 0, 'delay')",
    );
    schedule(&inbox, "other").await;
    assert_eq!(inbox.process_pending().await.unwrap().completed, 2);
}

#[tokio::test]
async fn a_store_locked_by_another_program_is_busy_and_the_command_can_be_scheduled_again() {
    let place = place();
    let impatient = SqliteOptions::new().busy_timeout(Duration::from_millis(20));
    let store = impatient.open(&place.path).await.unwrap();
    let inbox = Inbox::builder(store).build().await.unwrap();
    let other = Connection::open(&place.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let again = || Note { text: "a".to_owned() };
    let error = inbox.scheduler().schedule(again(), ScheduleOptions::new()).await.unwrap_err();
    let ScheduleError::Store(error) = error else { panic!("{error}") };
    assert!(error.kind() == StoreErrorKind::Busy && error.is_transient(), "{error}");
    // Reading goes on, and so does everything once the lock is gone.
    assert!(inbox.store().counts().await.unwrap().is_empty());
    other.execute_batch("ROLLBACK").unwrap();
    let receipt = inbox.scheduler().schedule(again(), ScheduleOptions::new()).await;
    assert!(receipt.is_ok(), "{receipt:?}");
}

fn request() -> LeaseRequest {
    let limit = NonZeroU32::new(10).unwrap();
    let wanted = Wanted {
        handler_key: "note".to_owned(),
        versions: vec![1],
        limit,
        max_crashes: limit,
        terms: Terms::default(),
    };
    let duration = Duration::from_hours(1);
    let (host, wanted, tenants) = ("test".to_owned(), vec![wanted], None);
    LeaseRequest { host, duration, wanted, tenants, quarantine: None, first: None }
}

#[tokio::test]
async fn leases_that_nobody_waits_for_are_released_at_once() {
    let place = place();
    let inbox = inbox(&place).await;
    let id = schedule(&inbox, "a").await;
    let store = inbox.store();
    // Dropped before it was asked, and after the claim was made but before it was received.
    for polls in [0, 1] {
        let mut lease = store.lease(request(), Now::OfStore);
        for _ in 0..polls {
            let polled = std::future::poll_fn(|context| {
                std::task::Poll::Ready(lease.as_mut().poll(context).is_pending())
            });
            assert!(polled.await);
            // Behind the lease in the queue: when this is answered, the claim has been made.
            store.release(Vec::new(), Now::OfStore).await.unwrap();
        }
        drop(lease);
        store.release(Vec::new(), Now::OfStore).await.unwrap();
        let delivery = store.show(id).await.unwrap().unwrap().deliveries.remove(0);
        let released = (DeliveryState::Pending, 0);
        assert_eq!((delivery.state, delivery.attempts), released, "after {polls} polls");
    }
}
