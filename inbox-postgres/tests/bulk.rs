//! Loading a great many commands at once.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::sync::Arc;
use std::time::Duration;

use inbox::postgres::PostgresStore;
use inbox::schedule::{OnConflict, Priority, ScheduleError, ScheduleOptions, Start};
use inbox::store::{BulkReceipt, DeliveryState, Inspect as _};
use inbox::{Inbox, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
}

#[handler(key = "pay")]
async fn pay(_command: Pay) {}

#[handler(key = "book")]
async fn book(_command: Pay) {}

#[inbox_contract(name = "nobody", version = 1)]
#[derive(Serialize, Deserialize)]
struct Nobody;

#[inbox_contract(name = "text", version = 1)]
#[derive(Serialize, Deserialize)]
struct Text(String);

async fn application() -> (PostgresDatabase, Inbox<PostgresStore>) {
    let database = PostgresDatabase::create().await.unwrap();
    let options = reach::options().connections(3).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    (database, Inbox::builder(store).build().await.unwrap())
}

fn keyed(id: u64) -> (Pay, ScheduleOptions) {
    (Pay { id }, ScheduleOptions::new().idempotency_key(id.to_string()))
}

async fn counts(inbox: &Inbox<PostgresStore>) -> Vec<(Option<String>, DeliveryState, u64)> {
    let counts = inbox.store().counts().await.unwrap();
    counts.into_iter().map(|count| (count.handler_key, count.state, count.count)).collect()
}

#[tokio::test]
async fn twelve_thousand_commands_are_stored_and_reach_every_handler() {
    let (_database, inbox) = application().await;
    // More than is held in memory at once.
    let commands = (0..12_000).map(|id| (Pay { id }, ScheduleOptions::new()));
    let receipt = inbox.scheduler().schedule_bulk(commands).await.unwrap();
    assert_eq!(receipt, BulkReceipt { accepted: 12_000, already_accepted: 0 });
    let pending = |key: &str| (Some(key.to_owned()), DeliveryState::Pending, 12_000);
    assert_eq!(counts(&inbox).await, [pending("book"), pending("pay")]);
    assert_eq!(inbox.process_pending().await.unwrap().completed, 24_000);
}

#[tokio::test]
async fn what_is_loaded_is_as_it_would_be_if_it_were_scheduled() {
    let (database, inbox) = application().await;
    let options = |key: Option<&str>| {
        let options = ScheduleOptions::new()
            .ordering_key("order")
            .correlation_id("conversation")
            .causation_id("cause")
            .tenant("acme")
            .header("trace", "ab\"c")
            .priority(Priority::Urgent)
            .deliver_by(inbox::Timestamp::from_micros(7_000_000_000_000_000));
        match key {
            Some(key) => options.idempotency_key(key),
            None => options,
        }
    };
    let receipt = inbox.scheduler().schedule(Pay { id: 1 }, options(Some("a"))).await.unwrap();
    let scheduled = inbox.status(receipt.message_id()).await.unwrap().unwrap();
    for key in [None, Some("b")] {
        let load = inbox.scheduler().schedule_bulk([(Pay { id: 1 }, options(key))]);
        assert_eq!(load.await.unwrap().accepted, 1);
    }
    let listed = inbox.list(inbox::store::DeliveryFilter::default()).await.unwrap();
    for id in listed.deliveries.iter().map(|delivery| delivery.message_id) {
        let loaded = inbox.status(id).await.unwrap().unwrap();
        let mut message = loaded.stored.message.clone();
        (message.id, message.idempotency_key) = (receipt.message_id(), Some("a".to_owned()));
        assert_eq!(message, scheduled.stored.message);
        let states: Vec<_> = loaded.deliveries.iter().map(|d| (&d.handler_key, d.state)).collect();
        let expected: Vec<_> =
            scheduled.deliveries.iter().map(|d| (&d.handler_key, d.state)).collect();
        assert_eq!(states, expected);
    }
    assert_eq!(listed.deliveries.len(), 6);
    // In each way, a worker for this tenant finds them.
    let client = database.connect().await.unwrap();
    let from_sql = "SELECT inbox.schedule('pay', 1, '{\"id\": 1}', tenant => 'acme')";
    client.batch_execute(from_sql).await.unwrap();
    let of_acme = "SELECT count(*) FROM inbox.ready WHERE tenant = 'acme'";
    assert_eq!(client.query_one(of_acme, &[]).await.unwrap().get::<_, i64>(0), 8);
}

#[tokio::test]
async fn a_start_and_a_missing_route_are_waited_for() {
    let (_database, inbox) = application().await;
    for key in [None, Some("k")] {
        let mut options = ScheduleOptions::new().delay(Duration::from_hours(1));
        options = match key {
            Some(key) => options.idempotency_key(key),
            None => options,
        };
        inbox.scheduler().schedule_bulk([(Pay { id: 1 }, options)]).await.unwrap();
        let mut options = ScheduleOptions::new();
        options = match key {
            Some(key) => options.idempotency_key(key),
            None => options,
        };
        inbox.scheduler().schedule_bulk([(Nobody, options)]).await.unwrap();
    }
    let waiting = |key: Option<&str>| (key.map(str::to_owned), DeliveryState::Waiting, 2);
    assert_eq!(counts(&inbox).await, [waiting(None), waiting(Some("book")), waiting(Some("pay"))]);
    let page = inbox.list(inbox::store::DeliveryFilter::default()).await.unwrap();
    for delivery in page.deliveries.iter().filter(|delivery| delivery.handler_key.is_some()) {
        inbox.reschedule(delivery.message_id, Start::Immediately).await.unwrap();
    }
    assert_eq!(inbox.process_pending().await.unwrap().completed, 4);
}

#[tokio::test]
async fn of_equal_keys_the_first_stands_in_the_load_and_before_it() {
    let (_database, inbox) = application().await;
    let (command, options) = keyed(3);
    let before = inbox.scheduler().schedule(command, options).await.unwrap();
    let commands = (0..6_000).map(|id| keyed(id % 5_500));
    let receipt = inbox.scheduler().schedule_bulk(commands).await.unwrap();
    assert_eq!(receipt, BulkReceipt { accepted: 5_499, already_accepted: 501 });
    let again = inbox.scheduler().schedule_bulk((0..5_500).map(keyed)).await.unwrap();
    assert_eq!(again, BulkReceipt { accepted: 0, already_accepted: 5_500 });
    let (command, options) = keyed(3);
    let after = inbox.scheduler().schedule(command, options).await.unwrap();
    assert_eq!(after.message_id(), before.message_id());
}

#[tokio::test]
async fn two_loads_with_the_same_keys_in_opposite_orders_both_end() {
    let (_database, inbox) = application().await;
    let load = |reversed: bool| {
        let scheduler = inbox.scheduler().clone();
        tokio::spawn(async move {
            let ids = (0..8_000).map(move |at| if reversed { 7_999 - at } else { at });
            scheduler.schedule_bulk(ids.map(keyed)).await.unwrap()
        })
    };
    let (first, second) = (load(false), load(true));
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!(first.accepted + second.accepted, 8_000, "{first:?} {second:?}");
    assert_eq!(first.already_accepted + second.already_accepted, 8_000);
}

#[tokio::test]
async fn one_command_that_no_store_would_take_is_named_and_none_is_stored() {
    let (_database, inbox) = application().await;
    let text = |at: u64| Text(if at == 7_000 { "\0".to_owned() } else { "fine".to_owned() });
    let commands = (0..9_000).map(|at| (text(at), ScheduleOptions::new()));
    let error = inbox.scheduler().schedule_bulk(commands).await.unwrap_err();
    let ScheduleError::InBulk { at: 7_000, error } = error else { panic!("{error}") };
    assert!(matches!(*error, ScheduleError::Flawed { .. }), "{error}");
    let options = ScheduleOptions::new().idempotency_key("k").on_conflict(OnConflict::Refuse);
    let error = inbox.scheduler().schedule_bulk([(Pay { id: 1 }, options)]).await.unwrap_err();
    let ScheduleError::InBulk { at: 0, error } = error else { panic!("{error}") };
    assert!(matches!(*error, ScheduleError::NotInBulk { .. }), "{error}");
    assert_eq!(counts(&inbox).await, []);
}

#[tokio::test]
async fn a_load_that_nobody_waits_for_any_more_stores_nothing_and_holds_nothing() {
    let (_database, inbox) = application().await;
    let reached = Arc::new(Notify::new());
    for is_keyed in [false, true] {
        let commands = (0..30_000_u64).map(|id| {
            if id == 12_000 {
                reached.notify_one();
            }
            if is_keyed { keyed(id) } else { (Pay { id }, ScheduleOptions::new()) }
        });
        tokio::select! {
            biased;
            () = reached.notified() => {}
            loaded = inbox.scheduler().schedule_bulk(commands) => panic!("{loaded:?}"),
        }
        assert_eq!(counts(&inbox).await, []);
    }
    // The keys are free, and so are the connections.
    let all = inbox.scheduler().schedule_bulk((0..10).map(keyed)).await.unwrap();
    assert_eq!(all.accepted, 10);
}
