//! Verbs that meet at the same rows, brought there one after the other.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::num::NonZeroU32;
use std::time::Duration;

use inbox::postgres::PostgresStore;
use inbox::postgres::tokio_postgres::Client;
use inbox::schedule::{ScheduleOptions, Start};
use inbox::settle::{DoneOutcome, ErrorReport, Settlement};
use inbox::store::{
    DeliveryState, Inspect as _, LaneFilter, LeaseRequest, LeaseStore as _, LeaseToken,
    Maintain as _, Now, OrphanTerms, Runs, Settle, StateStore as _, Terms, Wanted,
};
use inbox::{Inbox, MessageId, Timestamp, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "paid", version = 1)]
#[derive(Serialize, Deserialize)]
struct Paid;

#[handler(key = "book")]
async fn book(_event: Paid) {}

#[handler(key = "ship")]
async fn ship(_event: Paid) {}

async fn application() -> (PostgresDatabase, Inbox<PostgresStore>, MessageId) {
    let database = PostgresDatabase::create().await.unwrap();
    let options = reach::options().connections(4).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    let inbox = Inbox::builder(store).build().await.unwrap();
    let receipt = inbox.scheduler().schedule(Paid, ScheduleOptions::new()).await.unwrap();
    (database, inbox, receipt.message_id())
}

/// Until so many statements wait for another transaction.
async fn until_waiting(database: &PostgresDatabase, count: i64) {
    // One that is in no transaction: there, it would always see the same.
    let client: Client = database.connect().await.unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < count {
        tokio::task::yield_now().await;
    }
}

async fn lease(store: &PostgresStore) -> Vec<LeaseToken> {
    let wanted = ["book", "ship"].map(|key| Wanted {
        handler_key: key.to_owned(),
        versions: vec![1],
        limit: NonZeroU32::MIN,
        max_crashes: NonZeroU32::MIN,
        terms: Terms::default(),
    });
    let (host, duration) = ("host".to_owned(), Duration::from_hours(1));
    let request = LeaseRequest::new(host, duration, wanted.into());
    let leases = store.lease(request, Now::OfStore).await.unwrap();
    let mut tokens: Vec<_> = leases.iter().map(|lease| lease.token).collect();
    tokens.sort();
    tokens
}

#[tokio::test]
async fn a_cancellation_does_not_wait_for_a_renewal_of_the_same_leases() {
    let (database, inbox, id) = application().await;
    let store = PostgresStore::clone(inbox.store());
    let tokens = lease(&store).await;
    let holder = database.connect().await.unwrap();
    let hold = "BEGIN; SELECT 1 FROM inbox.lease ORDER BY id LIMIT 1 FOR UPDATE";
    holder.batch_execute(hold).await.unwrap();
    let renewing = tokio::spawn({
        let store = store.clone();
        async move { store.renew(tokens, Duration::from_hours(2), Now::OfStore).await }
    });
    until_waiting(&database, 1).await;
    assert_eq!(store.cancel(id, None, Now::OfStore).await.unwrap().asked, 2);
    holder.batch_execute("COMMIT").await.unwrap();
    assert!(renewing.await.unwrap().unwrap().iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_cancellation_and_a_rescheduling_of_one_message_do_not_wait_in_a_circle() {
    let (database, inbox, id) = application().await;
    let store = PostgresStore::clone(inbox.store());
    let later = Start::After(Duration::from_hours(1));
    store.reschedule(id, Some("ship"), later, Now::OfStore).await.unwrap();
    let holder = database.connect().await.unwrap();
    holder.batch_execute("BEGIN; SELECT 1 FROM inbox.ready FOR UPDATE").await.unwrap();
    let cancelling = tokio::spawn({
        let store = store.clone();
        async move { store.cancel(id, None, Now::OfStore).await }
    });
    until_waiting(&database, 1).await;
    let rescheduling =
        tokio::spawn(async move { store.reschedule(id, None, later, Now::OfStore).await });
    until_waiting(&database, 2).await;
    holder.batch_execute("COMMIT").await.unwrap();
    rescheduling.await.unwrap().unwrap();
    assert_eq!(cancelling.await.unwrap().unwrap().at_once, 2);
    let status = inbox.status(id).await.unwrap().unwrap();
    let cancelled = inbox::store::DeliveryState::Cancelled;
    assert!(status.deliveries.iter().all(|delivery| delivery.state == cancelled), "{status:?}");
}

/// Schedules two of one lane. Hosts are there, and none of them serves it.
async fn two_orphans() -> (PostgresDatabase, PostgresStore, [MessageId; 2]) {
    let (database, inbox, alone) = application().await;
    let store = PostgresStore::clone(inbox.store());
    store.cancel(alone, None, Now::OfStore).await.unwrap();
    let both = [of_lane(&inbox).await, of_lane(&inbox).await];
    store.announce("idle", Vec::new(), Now::OfStore).await.unwrap();
    (database, store, both)
}

async fn of_lane(inbox: &Inbox<PostgresStore>) -> MessageId {
    let options = ScheduleOptions::new().ordering_key("a");
    inbox.scheduler().schedule(Paid, options).await.unwrap().message_id()
}

async fn give_up(store: &PostgresStore) -> usize {
    let terms = OrphanTerms { grace: Duration::ZERO, alive_for: Duration::from_hours(1) };
    store.give_up_orphans(terms, 10, Now::OfStore).await.unwrap().len()
}

#[tokio::test]
async fn an_orphan_that_is_about_to_be_gone_does_not_become_the_head_of_its_lane() {
    let (database, store, [first, second]) = two_orphans().await;
    let holder = database.connect().await.unwrap();
    let hold = format!("BEGIN; DELETE FROM inbox.ready WHERE message_id = '{first}'");
    holder.batch_execute(&hold).await.unwrap();
    assert_eq!(give_up(&store).await, 0, "nobody knows yet whose turn it is");
    assert_eq!(store.lanes(LaneFilter::blocked()).await.unwrap(), []);
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(give_up(&store).await, 2, "of both handlers");
    let lanes = store.lanes(LaneFilter::blocked()).await.unwrap();
    assert_eq!(lanes.iter().map(|lane| lane.head).collect::<Vec<_>>(), [second, second]);
}

#[tokio::test]
async fn to_give_up_orphans_waits_for_no_lane_that_changes_hands() {
    let (database, inbox, alone) = application().await;
    let store = PostgresStore::clone(inbox.store());
    store.cancel(alone, None, Now::OfStore).await.unwrap();
    store.announce("idle", Vec::new(), Now::OfStore).await.unwrap();
    of_lane(&inbox).await;
    assert_eq!(lease(&store).await.len(), 2, "the first is at work");
    let second = of_lane(&inbox).await;
    let holder = database.connect().await.unwrap();
    holder.batch_execute("BEGIN; DELETE FROM inbox.lane").await.unwrap();
    assert_eq!(give_up(&store).await, 0);
    let state = "SELECT count(*) FROM inbox.ready WHERE message_id::text = $1";
    let ready = database.connect().await.unwrap();
    let ready = ready.query_one(state, &[&second.to_string()]).await.unwrap();
    assert_eq!(ready.get::<_, i64>(0), 2, "it is left where it is");
    holder.batch_execute("ROLLBACK").await.unwrap();
}

/// Settles both deliveries while someone cancels them, who is not done yet.
async fn settled_while_cancelled(settlement: Settlement) -> (PostgresDatabase, Vec<DeliveryState>) {
    let (database, inbox, id) = application().await;
    let store = PostgresStore::clone(inbox.store());
    let settles: Vec<_> = lease(&store)
        .await
        .into_iter()
        .map(|token| Settle::by_id(token, id, settlement.clone()))
        .collect();
    let canceller = database.connect().await.unwrap();
    canceller.batch_execute("BEGIN; UPDATE inbox.held SET cancel = true").await.unwrap();
    let settling = tokio::spawn(async move { store.settle(settles, Now::OfStore).await });
    until_waiting(&database, 1).await;
    canceller.batch_execute("COMMIT").await.unwrap();
    let settled = settling.await.unwrap().unwrap();
    (database, settled.into_iter().map(Result::unwrap).collect())
}

#[tokio::test]
async fn what_is_cancelled_while_it_is_settled_is_in_one_place_in_the_end() {
    let retry = Settlement::Retry { after: Duration::ZERO, error: ErrorReport::new("x", "x") };
    for (settlement, state) in [
        (Settlement::Done(DoneOutcome::Completed), DeliveryState::Completed),
        (retry, DeliveryState::Cancelled),
    ] {
        let (database, states) = settled_while_cancelled(settlement).await;
        assert_eq!(states, [state, state]);
        let client = database.connect().await.unwrap();
        let places = "SELECT state FROM inbox.delivery";
        let places = client.query(places, &[]).await.unwrap();
        let places: Vec<String> = places.iter().map(|row| row.get(0)).collect();
        assert_eq!(places, [state.as_str(), state.as_str()]);
    }
}

/// Of the lanes `z`, `b` and `z`, all under one lease; the store that holds them, and what else is ready.
async fn two_lanes() -> (PostgresDatabase, PostgresStore, LeaseToken, [MessageId; 3], MessageId) {
    let (database, inbox, other) = application().await;
    let store = PostgresStore::clone(inbox.store());
    let mut all = Vec::new();
    for key in ["z", "b", "z"] {
        let options = ScheduleOptions::new().ordering_key(key);
        all.push(inbox.scheduler().schedule(Paid, options).await.unwrap().message_id());
    }
    let few = NonZeroU32::new(10).unwrap();
    let wanted = Wanted {
        handler_key: "book".to_owned(),
        versions: vec![1],
        limit: few,
        max_crashes: few,
        terms: Terms { runs: Runs { lanes: few, length: few }, ..Terms::default() },
    };
    let request = LeaseRequest::new("late", Duration::from_hours(1), vec![wanted]);
    let leases = store.lease(request, Now::OfStore).await.unwrap();
    assert_eq!((leases.len(), leases[0].deliveries.len()), (1, 4), "all are under one lease");
    let token = leases[0].token;
    let done = Settlement::Done(DoneOutcome::Completed);
    let settle = Settle::by_id(token, other, done);
    store.settle(vec![settle], Now::OfStore).await.unwrap().remove(0).unwrap();
    (database, store, token, all.try_into().unwrap(), other)
}

#[tokio::test]
async fn a_late_settlement_and_the_reclaiming_of_another_lane_do_not_wait_in_a_circle() {
    let (database, store, token, [first, ..], other) = two_lanes().await;
    // It has one connection: between its statements, another call has its turn.
    let one = reach::options().connections(1).open_on(&database).await.unwrap();
    let (before, between) = (database.connect().await.unwrap(), database.connect().await.unwrap());
    before.batch_execute("BEGIN; SELECT 1 FROM inbox.ready FOR UPDATE").await.unwrap();
    let reclaiming = tokio::spawn({
        let store = one.clone();
        let later = Timestamp::now().saturating_add(Duration::from_hours(2));
        async move { store.reclaim(2, Now::At(later)).await }
    });
    let cancelling = tokio::spawn(async move { one.cancel(other, None, Now::OfStore).await });
    until_waiting(&database, 1).await;
    let left = "BEGIN; SELECT 1 FROM inbox.held FOR UPDATE";
    between.batch_execute(left).await.unwrap();
    // The worker has the second lane, and not yet its delivery.
    let settling = tokio::spawn(async move {
        let settle = Settle::by_id(token, first, Settlement::Done(DoneOutcome::Completed));
        store.settle(vec![settle], Now::OfStore).await
    });
    until_waiting(&database, 2).await;
    before.batch_execute("COMMIT").await.unwrap();
    // The first lane is taken, to be handed on; the second one is waited for.
    let first_lane = "SELECT 1 FROM inbox.lane WHERE ordering_key = 'b' FOR UPDATE SKIP LOCKED";
    while !before.query(first_lane, &[]).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    until_waiting(&database, 2).await;
    between.batch_execute("COMMIT").await.unwrap();
    assert_eq!(settling.await.unwrap().unwrap(), [Ok(DeliveryState::Completed)]);
    let reclaimed = reclaiming.await.unwrap().unwrap();
    cancelling.await.unwrap().unwrap();
    assert_eq!(reclaimed.returned(), 2);
    assert!(reclaimed.deliveries.iter().all(|one| one.message_id != first));
}
