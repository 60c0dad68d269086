//! Order and limits in a file after a restart, or after someone changed it by hand.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use inbox_core::message::{Envelope, Headers, Message, MessageId, OnConflict, Payload};
use inbox_core::schedule::{Priority, Start};
use inbox_core::settle::{DoneOutcome, Settlement};
use inbox_core::store::{
    Inspect as _, LaneFilter, Lease, LeaseRequest, LeaseStore as _, Maintain as _, OnDead, Route,
    Runs, Settle, StateStore as _, Terms, Wanted, Writer as _,
};
use inbox_core::{Now, Timestamp};
use inbox_sqlite::rusqlite::Connection;
use inbox_sqlite::{SqliteStore, open};
use tempfile::TempDir;

const NOW: Now = Now::At(Timestamp::from_micros(1_000));

/// The delay of what waits is over, and no lease is.
const LATER: Now = Now::At(Timestamp::from_micros(2_000));

/// Numbered messages of three keys, stored under two names of one handler: the first of `a` is held, and the
/// first of `c` waits.
async fn stored(path: &Path) -> SqliteStore {
    let store = open(path).await.unwrap();
    register(&store, "charge", &[]).await;
    accept(&store, [(1, "a"), (2, "a"), (4, "b")]).await;
    register(&store, "charge-card", &["charge"]).await;
    accept(&store, [(3, "a"), (5, "b"), (6, "c"), (7, "c"), (8, "")]).await;
    let held = store.lease(request(&["charge"], 1, Terms::default()), NOW).await.unwrap();
    assert_eq!(ids(&held), [1]);
    store
}

async fn register(store: &SqliteStore, key: &str, supersedes: &[&str]) {
    let route = Route {
        contract: "pay".to_owned(),
        handler_key: key.to_owned(),
        supersedes: supersedes.iter().map(|&key| key.to_owned()).collect(),
        context: String::new(),
        on_dead: OnDead::Block,
    };
    store.register_routes(vec![route], NOW).await.unwrap();
}

async fn accept<const N: usize>(store: &SqliteStore, messages: [(u128, &str); N]) {
    let envelope = |(id, key): (u128, &str)| {
        let key = Some(key.to_owned()).filter(|key| !key.is_empty());
        let message = Message {
            id: MessageId::from_u128(id),
            contract: "pay".to_owned(),
            version: 1,
            payload: Payload::from_bytes(b"{}".to_vec()),
            headers: Headers::new(),
            idempotency_key: None,
            ordering_key: key.clone(),
            concurrency_key: key,
            correlation_id: None,
            causation_id: None,
            tenant: String::new(),
            deliver_by: None,
        };
        let start =
            if id == 6 { Start::After(Duration::from_micros(1)) } else { Start::Immediately };
        let (priority, on_conflict) = (Priority::Normal, OnConflict::default());
        Envelope { message, start, priority, is_encoded: true, on_conflict }
    };
    let envelopes: Vec<_> = messages.into_iter().map(envelope).collect();
    store.accept(envelopes.into(), NOW).await.unwrap();
}

/// Any number of lanes, so many deliveries of each.
fn runs(length: u32) -> Runs {
    Runs { length: NonZeroU32::new(length).unwrap(), ..Runs::default() }
}

fn change(path: &Path, sql: &str) {
    assert!(Connection::open(path).unwrap().execute(sql, []).unwrap() > 0, "{sql}");
}

fn request(keys: &[&str], limit: u32, terms: Terms) -> LeaseRequest {
    let wanted = |key: &&str| Wanted {
        handler_key: (*key).to_owned(),
        versions: vec![1],
        limit: NonZeroU32::new(limit).unwrap(),
        max_crashes: NonZeroU32::MAX,
        terms,
    };
    let (host, duration) = ("test".to_owned(), Duration::from_secs(1));
    let (wanted, tenants) = (keys.iter().map(wanted).collect(), None);
    LeaseRequest { host, duration, wanted, tenants, quarantine: None, first: None }
}

async fn lease(store: &SqliteStore, terms: Terms) -> Vec<Lease> {
    store.lease(request(&["charge", "charge-card"], 100, terms), LATER).await.unwrap()
}

fn ids(leases: &[Lease]) -> Vec<u128> {
    let deliveries = leases.iter().flat_map(|lease| &lease.deliveries);
    deliveries.map(|delivery| delivery.message.id.as_u128()).collect()
}

async fn complete(store: &SqliteStore, leases: &[Lease]) {
    let done = Settlement::Done(DoneOutcome::Completed);
    let settle = |lease: &Lease| {
        let deliveries = lease.deliveries.iter();
        let settles = deliveries.map(|one| Settle::new(lease.token, one, done.clone()));
        settles.collect::<Vec<_>>()
    };
    let settled = store.settle(leases.iter().flat_map(settle).collect(), LATER).await.unwrap();
    assert!(settled.iter().all(Result::is_ok), "{settled:?}");
}

#[tokio::test]
async fn after_a_restart_deliveries_go_on_in_order_whatever_key_they_are_stored_under() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    stored(&path).await.close().await;
    let store = open(&path).await.unwrap();
    let held = lease(&store, Terms::default()).await;
    assert_eq!(ids(&held), [4, 7, 8], "the first of `a` is held");
    complete(&store, &held).await;
    assert_eq!(store.promote(10, LATER).await.unwrap(), 1);
    let held = lease(&store, Terms::default()).await;
    assert_eq!(ids(&held), [5, 6]);
    complete(&store, &held).await;
    // The first worker has vanished.
    let expired = Now::At(Timestamp::from_micros(1_001_000));
    assert_eq!(store.reclaim(10, expired).await.unwrap().returned(), 1);
    for expected in 1..=3 {
        let held = lease(&store, Terms::default()).await;
        assert_eq!(ids(&held), [expected]);
        complete(&store, &held).await;
    }
    assert_eq!(store.lanes(LaneFilter::default()).await.unwrap(), []);
}

#[tokio::test]
async fn what_was_leased_before_a_restart_counts_in_a_limit() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    stored(&path).await.close().await;
    let store = open(&path).await.unwrap();
    let limited = Terms { fleet: NonZeroU32::new(2), ..Terms::default() };
    assert_eq!(ids(&lease(&store, limited).await), [4]);
    assert_eq!(ids(&lease(&store, limited).await), []);
}

#[tokio::test]
async fn a_lane_whose_head_was_deleted_by_hand_goes_on_when_it_is_mended() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    let store = stored(&path).await;
    complete(&store, &lease(&store, Terms::default()).await).await;
    assert_eq!(store.mend(10, NOW).await.unwrap(), 0, "all is whole");
    change(&path, "DELETE FROM inbox_held");
    assert_eq!(store.mend(10, NOW).await.unwrap(), 1);
    assert_eq!(store.mend(10, NOW).await.unwrap(), 0, "it is mended");
    assert_eq!(ids(&lease(&store, Terms::default()).await), [2, 5]);
}

#[tokio::test]
async fn a_lane_that_was_deleted_by_hand_begins_again_when_it_is_mended() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    let store = stored(&path).await;
    change(&path, "DELETE FROM inbox_held");
    change(&path, "DELETE FROM inbox_lane");
    assert_eq!(store.mend(10, NOW).await.unwrap(), 1);
    assert_eq!(ids(&lease(&store, Terms::default()).await), [2, 4, 7, 8]);
}

#[tokio::test]
async fn a_front_that_was_made_by_hand_is_not_leased_while_its_lane_is_held() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    let store = stored(&path).await;
    let second = Connection::open(&path).unwrap().execute("UPDATE inbox_ready SET behind = 0", []);
    assert!(second.is_err(), "of a lane, one is in front");
    let first_of_a =
        "UPDATE inbox_ready SET behind = 0 WHERE message_id = x'00000000000000000000000000000002'";
    for (length, expected) in [(1, vec![4, 7, 8]), (9, vec![5])] {
        change(&path, first_of_a);
        let held = lease(&store, Terms { runs: runs(length), ..Terms::default() }).await;
        assert_eq!(ids(&held), expected, "none of the one that is held");
        complete(&store, &held).await;
    }
    let of = LaneFilter { handler_key: Some("charge-card".to_owned()), ..LaneFilter::default() };
    let heads: Vec<MessageId> =
        store.lanes(of).await.unwrap().into_iter().map(|lane| lane.head).collect();
    assert_eq!(heads, [MessageId::from_u128(1)]);
}

#[tokio::test]
async fn a_damaged_delivery_is_a_run_of_its_own() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    let store = open(&path).await.unwrap();
    register(&store, "charge", &[]).await;
    accept(&store, [(1, "a"), (2, "a"), (3, "a"), (4, "a")]).await;
    change(
        &path,
        "UPDATE inbox_message SET headers = '[' WHERE id = x'00000000000000000000000000000002'",
    );
    let terms = Terms { runs: runs(9), ..Terms::default() };
    let held = lease(&store, terms).await;
    assert_eq!(ids(&held), [1], "the run ends before it");
    complete(&store, &held).await;
    let held = lease(&store, terms).await;
    let unreadable: Vec<u128> =
        held[0].unreadable.iter().map(|one| one.message_id.as_u128()).collect();
    assert_eq!((ids(&held), unreadable), (vec![], vec![2]), "alone");
    assert_eq!(ids(&lease(&store, terms).await), [], "it holds its lane");
    let done = Settlement::Done(DoneOutcome::Discarded);
    let settle = Settle::by_id(held[0].token, MessageId::from_u128(2), done);
    assert!(store.settle(vec![settle], LATER).await.unwrap()[0].is_ok());
    assert_eq!(ids(&lease(&store, terms).await), [3, 4]);
}

#[tokio::test]
async fn a_message_that_is_there_under_two_keys_of_a_handler_is_once_in_a_run() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path().join("inbox.db")).await.unwrap();
    // Two programs have renamed it, each in its own way.
    register(&store, "charge-card", &["charge"]).await;
    register(&store, "charge-bank", &["charge"]).await;
    accept(&store, [(1, "a"), (2, "a")]).await;
    let terms = Terms { runs: runs(9), ..Terms::default() };
    let mut run = Vec::new();
    loop {
        let request = request(&["charge-bank", "charge-card"], 100, terms);
        let held = store.lease(request, LATER).await.unwrap();
        if held.is_empty() {
            break;
        }
        let mut of_lease = ids(&held);
        run.extend(of_lease.clone());
        of_lease.dedup();
        assert_eq!(of_lease, ids(&held), "a token settles it by its id");
        complete(&store, &held).await;
    }
    assert_eq!(run, [1, 1, 2, 2]);
}
