//! Messages that wait for their first handler, and others of the same ordering key that come while it registers.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use inbox::postgres::PostgresStore;
use inbox::settle::{DoneOutcome, Settlement};
use inbox::store::{
    DeliveryState, Inspect as _, LeaseRequest, LeaseStore as _, Maintain as _, Now, Settle,
    StateStore as _, Terms, Wanted,
};
use inbox::{Inbox, MessageId, ScheduleOptions, Scheduler, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay;

#[handler(key = "charge")]
async fn charge(_command: Pay) {}

fn of(key: &str) -> ScheduleOptions {
    ScheduleOptions::new().ordering_key(key)
}

/// Leases and settles what is ready, and answers in which order.
async fn drained(store: &PostgresStore) -> Vec<MessageId> {
    let wanted = Wanted {
        handler_key: "charge".to_owned(),
        versions: vec![1],
        limit: NonZeroU32::MIN,
        max_crashes: NonZeroU32::MIN,
        terms: Terms::default(),
    };
    let request = LeaseRequest::new("host", Duration::from_hours(1), vec![wanted]);
    let mut run = Vec::new();
    loop {
        let leases = store.lease(request.clone(), Now::OfStore).await.unwrap();
        let Some(lease) = leases.first() else { return run };
        let done = Settlement::Done(DoneOutcome::Completed);
        let settle = Settle::new(lease.token, &lease.deliveries[0], done);
        run.push(lease.deliveries[0].message.id);
        store.settle(vec![settle], Now::OfStore).await.unwrap().remove(0).unwrap();
    }
}

#[tokio::test]
async fn whatever_way_it_is_scheduled_it_waits_behind_what_has_no_route_yet() {
    let database = PostgresDatabase::create().await.unwrap();
    let options = reach::options().connections(4).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    let before = Scheduler::new(Arc::new(store.clone()));
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(before.schedule(Pay, of("a")).await.unwrap().message_id());
    }
    // Whoever routes them is at it, and has not committed.
    let mut holder = database.connect().await.unwrap();
    let routing = holder.transaction().await.unwrap();
    let hold = "SELECT 1 FROM inbox.waiting WHERE handler_key = '' FOR UPDATE";
    assert_eq!(routing.query(hold, &[]).await.unwrap().len(), 3);
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();

    let scheduler = inbox.scheduler();
    all.push(scheduler.schedule(Pay, of("a")).await.unwrap().message_id());
    for receipt in scheduler.schedule_all(vec![(Pay, of("a")), (Pay, of("a"))]).await.unwrap() {
        all.push(receipt.unwrap().message_id());
    }
    scheduler.schedule_bulk([(Pay, of("a"))]).await.unwrap();
    let keyed = of("a").idempotency_key("only-once");
    scheduler.schedule_bulk([(Pay, keyed)]).await.unwrap();
    let client = database.connect().await.unwrap();
    let sql = "SELECT inbox.schedule('pay', 1, 'null', ordering_key => 'a')";
    client.query(sql, &[]).await.unwrap();
    let later =
        "SELECT id::text FROM inbox.message WHERE NOT id::text = ANY ($1) ORDER BY accepted_at";
    let known: Vec<_> = all.iter().map(ToString::to_string).collect();
    for row in client.query(later, &[&known]).await.unwrap() {
        all.push(row.get::<_, String>(0).parse().unwrap());
    }
    assert_eq!(all.len(), 9);
    for id in &all {
        let shown = store.show(*id).await.unwrap().unwrap();
        let [one] = shown.deliveries.as_slice() else { panic!("{shown:?}") };
        assert_eq!((one.state, &one.handler_key), (DeliveryState::Waiting, &None));
    }

    // Other lanes, and what has no key, do not wait.
    for options in [of("b"), ScheduleOptions::new(), of("a").tenant("acme")] {
        let id = scheduler.schedule(Pay, options).await.unwrap().message_id();
        assert_eq!(drained(&store).await, [id]);
    }

    routing.rollback().await.unwrap();
    assert_eq!(store.route(4, Now::OfStore).await.unwrap(), 4);
    let mut run = drained(&store).await;
    all.push(scheduler.schedule(Pay, of("a")).await.unwrap().message_id());
    run.extend(drained(&store).await);
    assert_eq!(store.route(100, Now::OfStore).await.unwrap(), 6);
    all.push(scheduler.schedule(Pay, of("a")).await.unwrap().message_id());
    run.extend(drained(&store).await);
    assert_eq!(run, all, "in the order of acceptance");
}

#[tokio::test]
async fn of_two_that_route_at_once_one_leaves_it_to_the_other() {
    let database = PostgresDatabase::create().await.unwrap();
    let options = reach::options().connections(4).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    let before = Scheduler::new(Arc::new(store.clone()));
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(before.schedule(Pay, of("a")).await.unwrap().message_id());
    }
    let mut holder = database.connect().await.unwrap();
    let routing = holder.transaction().await.unwrap();
    let hold = "SELECT 1 FROM inbox.waiting ORDER BY position LIMIT 1 FOR UPDATE";
    routing.query(hold, &[]).await.unwrap();
    Inbox::builder(store.clone()).build().await.unwrap();
    assert_eq!(store.route(10, Now::OfStore).await.unwrap(), 0, "somebody else is at it");
    assert_eq!(drained(&store).await, []);
    routing.rollback().await.unwrap();
    assert_eq!(store.route(10, Now::OfStore).await.unwrap(), 4);
    assert_eq!(drained(&store).await, all);
}
