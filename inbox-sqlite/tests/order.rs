//! Order and limits in a file that an older program wrote, or that someone changed by hand.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inbox_core::message::MessageId;
use inbox_core::settle::{DoneOutcome, Settlement};
use inbox_core::store::{
    Inspect as _, LaneFilter, Lease, LeaseRequest, LeaseStore as _, Maintain as _, Settle,
    StateStore as _, Terms, Wanted,
};
use inbox_core::{Now, Timestamp};
use inbox_sqlite::rusqlite::Connection;
use inbox_sqlite::{SqliteStore, open};
use tempfile::TempDir;

const NOW: Now = Now::At(Timestamp::from_micros(1_000));

/// Numbered messages of three keys, under two names of one handler, as version 2 of the schema kept them.
const STORED: &str = "
    CREATE TABLE inbox_migration (
        version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO inbox_migration VALUES (1, 'spine', 0), (2, 'boundaries', 0);
    INSERT INTO inbox_route (contract, handler_key, superseded_by, registered_at)
    VALUES ('pay', 'charge', 'charge-card', 0), ('pay', 'charge-card', NULL, 1);
    CREATE TEMP TABLE stored AS
    SELECT unhex(printf('%032x', value ->> 0)) AS id, value ->> 1 AS handler_key, value ->> 2 AS key,
           value ->> 3 AS place
    FROM json_each('[
        [1, \"charge\", \"a\", \"lease\"], [2, \"charge\", \"a\", \"ready\"],
        [3, \"charge-card\", \"a\", \"ready\"], [4, \"charge\", \"b\", \"ready\"],
        [5, \"charge-card\", \"b\", \"ready\"], [6, \"charge-card\", \"c\", \"waiting\"],
        [7, \"charge-card\", \"c\", \"ready\"], [8, \"charge-card\", null, \"ready\"]
    ]');
    INSERT INTO inbox_message (id, contract, version, payload, ordering_key, concurrency_key, accepted_at)
    SELECT id, 'pay', 1, '{}', key, key, 0 FROM stored;
    INSERT INTO inbox_ready (handler_key, version, priority, message_id)
    SELECT handler_key, 1, 1, id FROM stored WHERE place = 'ready' ORDER BY id;
    INSERT INTO inbox_waiting (message_id, handler_key, version, priority, due_at, reason)
    SELECT id, handler_key, 1, 1, 900, 'delay' FROM stored WHERE place = 'waiting';
    INSERT INTO inbox_lease (
        token, host, handler_key, message_id, version, priority, attempt, delayed_retries, suspect,
        max_attempts, leased_at, expires_at
    )
    SELECT id, 'old', handler_key, id, 1, 1, 1, 0, 0, 3, 500, 2000 FROM stored WHERE place = 'lease'";

fn older_file(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("inbox.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("../migrations/0001_spine.sql")).unwrap();
    connection.execute_batch(include_str!("../migrations/0002_boundaries.sql")).unwrap();
    connection.execute_batch(STORED).unwrap();
    path
}

fn change(path: &Path, sql: &str) {
    assert!(Connection::open(path).unwrap().execute(sql, []).unwrap() > 0, "{sql}");
}

async fn lease(store: &SqliteStore, terms: Terms) -> Vec<Lease> {
    let wanted = |key: &str| Wanted {
        handler_key: key.to_owned(),
        versions: vec![1],
        limit: NonZeroU32::MAX,
        max_attempts: NonZeroU32::MAX,
        terms,
    };
    let request = LeaseRequest {
        host: "test".to_owned(),
        duration: Duration::from_secs(1),
        wanted: vec![wanted("charge"), wanted("charge-card")],
        tenants: None,
    };
    store.lease(request, NOW).await.unwrap()
}

fn ids(leases: &[Lease]) -> Vec<u128> {
    leases.iter().map(|lease| lease.deliveries[0].message.id.as_u128()).collect()
}

async fn complete(store: &SqliteStore, leases: &[Lease]) {
    let settle = |lease: &Lease| Settle {
        token: lease.token,
        message_id: lease.deliveries[0].message.id,
        settlement: Settlement::Done(DoneOutcome::Completed),
    };
    let settled = store.settle(leases.iter().map(settle).collect(), NOW).await.unwrap();
    assert!(settled.iter().all(Result::is_ok), "{settled:?}");
}

#[tokio::test]
async fn what_an_older_release_stored_goes_on_in_order() {
    let directory = TempDir::new().unwrap();
    let store = open(older_file(&directory)).await.unwrap();
    let held = lease(&store, Terms::default()).await;
    assert_eq!(ids(&held), [4, 7, 8], "the first of `a` is held");
    complete(&store, &held).await;
    assert_eq!(store.promote(10, NOW).await.unwrap(), 1);
    let held = lease(&store, Terms::default()).await;
    assert_eq!(ids(&held), [5, 6]);
    complete(&store, &held).await;
    // The worker of the older release has vanished.
    let later = Now::At(Timestamp::from_micros(2_000));
    assert_eq!(store.reclaim(10, later).await.unwrap().returned, 1);
    for expected in 1..=3 {
        let held = lease(&store, Terms::default()).await;
        assert_eq!(ids(&held), [expected]);
        complete(&store, &held).await;
    }
    assert_eq!(store.lanes(LaneFilter::default()).await.unwrap(), []);
}

#[tokio::test]
async fn what_an_older_release_leased_counts_in_a_limit() {
    let directory = TempDir::new().unwrap();
    let store = open(older_file(&directory)).await.unwrap();
    let limited = Terms { fleet: NonZeroU32::new(2), ..Terms::default() };
    assert_eq!(ids(&lease(&store, limited).await), [4]);
    assert_eq!(ids(&lease(&store, limited).await), []);
}

#[tokio::test]
async fn a_lane_whose_head_was_deleted_by_hand_goes_on_when_it_is_mended() {
    let directory = TempDir::new().unwrap();
    let path = older_file(&directory);
    let store = open(&path).await.unwrap();
    complete(&store, &lease(&store, Terms::default()).await).await;
    assert_eq!(store.mend(10, NOW).await.unwrap(), 0, "all is whole");
    change(&path, "DELETE FROM inbox_lease");
    assert_eq!(store.mend(10, NOW).await.unwrap(), 1);
    assert_eq!(store.mend(10, NOW).await.unwrap(), 0, "it is mended");
    assert_eq!(ids(&lease(&store, Terms::default()).await), [2, 5]);
}

#[tokio::test]
async fn a_lane_that_was_deleted_by_hand_begins_again_when_it_is_mended() {
    let directory = TempDir::new().unwrap();
    let path = older_file(&directory);
    let store = open(&path).await.unwrap();
    change(&path, "DELETE FROM inbox_lease");
    change(&path, "DELETE FROM inbox_lane");
    assert_eq!(store.mend(10, NOW).await.unwrap(), 1);
    assert_eq!(ids(&lease(&store, Terms::default()).await), [2, 4, 7, 8]);
}

#[tokio::test]
async fn a_second_front_that_was_made_by_hand_is_not_leased() {
    let directory = TempDir::new().unwrap();
    let path = older_file(&directory);
    let store = open(&path).await.unwrap();
    change(&path, "UPDATE inbox_ready SET behind = 0");
    let held = lease(&store, Terms::default()).await;
    assert_eq!(ids(&held), [4, 7, 8], "one of each lane, and none of the one that is held");
    complete(&store, &held).await;
    assert_eq!(ids(&lease(&store, Terms::default()).await), [5]);
    let of = LaneFilter { handler_key: Some("charge-card".to_owned()), ..LaneFilter::default() };
    let heads: Vec<MessageId> =
        store.lanes(of).await.unwrap().into_iter().map(|lane| lane.head).collect();
    assert_eq!(heads, [MessageId::from_u128(1), MessageId::from_u128(5)]);
}
