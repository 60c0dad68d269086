//! Who handles what is known to the store, not only to the program that schedules.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::time::Duration;

use inbox::registry::{Catalog, Registry};
use inbox::sqlite::{SqliteStore, in_memory};
use inbox::store::{DeliveryState, OnDead, StoreErrorKind};
use inbox::{Error, Inbox, ScheduleOptions, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "event", version = 1)]
#[derive(Serialize, Deserialize)]
struct Event;

#[handler(key = "old-name")]
async fn old_name(_event: Event) {}

#[handler(key = "new-name", legacy = ["was-named"])]
async fn new_name(_event: Event) {}

#[handler(key = "book", context = "billing")]
async fn book(_event: Event) {}

#[handler(key = "pack", context = "shipping")]
async fn pack(_event: Event) {}

/// A program that links one handler alone.
async fn worker(store: &SqliteStore, key: &str) -> Inbox<SqliteStore> {
    let linked = Registry::builder().build().unwrap();
    let handler = linked.handler(key).unwrap().descriptor();
    let catalog = Catalog::new(linked.contracts().iter().copied(), [handler]);
    Inbox::builder(store.clone()).catalog(catalog).build().await.unwrap()
}

/// A program that links no handler at all.
async fn writer(store: &SqliteStore) -> Inbox<SqliteStore> {
    let nothing = Catalog::new([], []);
    Inbox::builder(store.clone()).catalog(nothing).build().await.unwrap()
}

async fn keys(
    inbox: &Inbox<SqliteStore>,
    id: inbox::MessageId,
) -> Vec<(Option<String>, DeliveryState)> {
    let status = inbox.status(id).await.unwrap().unwrap();
    status.deliveries.into_iter().map(|delivery| (delivery.handler_key, delivery.state)).collect()
}

#[tokio::test]
async fn a_program_without_handlers_schedules_for_those_that_have_them() {
    let store = in_memory().await.unwrap();
    let (old, new) = (worker(&store, "old-name").await, worker(&store, "new-name").await);
    let writer = writer(&store).await;
    let receipt = writer.scheduler().schedule(Event, ScheduleOptions::new()).await.unwrap();
    assert_eq!(writer.process_pending().await.unwrap().leased, 0);
    assert_eq!(old.process_pending().await.unwrap().completed, 1);
    let some = |key: &str| Some(key.to_owned());
    let expected =
        [(some("new-name"), DeliveryState::Pending), (some("old-name"), DeliveryState::Completed)];
    assert_eq!(keys(&writer, receipt.message_id()).await, expected);
    assert_eq!(new.process_pending().await.unwrap().completed, 1);
}

#[tokio::test]
async fn a_message_without_a_route_waits_and_is_routed_when_a_handler_registers() {
    let store = in_memory().await.unwrap();
    let writer = writer(&store).await;
    let receipt = writer.scheduler().schedule(Event, ScheduleOptions::new()).await.unwrap();
    let later = ScheduleOptions::new().delay(Duration::from_hours(1));
    let later = writer.scheduler().schedule(Event, later).await.unwrap();
    assert_eq!(keys(&writer, receipt.message_id()).await, [(None, DeliveryState::Waiting)]);
    let old = worker(&store, "old-name").await;
    let some = |key: &str| Some(key.to_owned());
    let expected = [(some("old-name"), DeliveryState::Pending)];
    assert_eq!(keys(&writer, receipt.message_id()).await, expected);
    let expected = [(some("old-name"), DeliveryState::Waiting)];
    assert_eq!(keys(&writer, later.message_id()).await, expected);
    assert_eq!(old.process_pending().await.unwrap().completed, 1);
    // A second handler is given only what is accepted from now on.
    let new = worker(&store, "new-name").await;
    assert_eq!(new.process_pending().await.unwrap().leased, 0);
}

#[tokio::test]
async fn a_renamed_handler_takes_over_and_what_was_stored_before_is_drained() {
    use inbox::store::{Maintain as _, Now, Route};
    let store = in_memory().await.unwrap();
    let before = Route {
        contract: "event".to_owned(),
        handler_key: "was-named".to_owned(),
        supersedes: Vec::new(),
        context: String::new(),
        on_dead: OnDead::Block,
    };
    store.register_routes(vec![before.clone()], Now::OfStore).await.unwrap();
    let writer = writer(&store).await;
    let schedule = async || {
        let receipt = writer.scheduler().schedule(Event, ScheduleOptions::new()).await.unwrap();
        receipt.message_id()
    };
    let stored_before = schedule().await;
    let new = worker(&store, "new-name").await;
    // A program of the old name starts once more: the name stays superseded.
    store.register_routes(vec![before], Now::OfStore).await.unwrap();
    let stored_after = schedule().await;
    assert_eq!(new.process_pending().await.unwrap().completed, 2);
    let completed = |key: &str| [(Some(key.to_owned()), DeliveryState::Completed)];
    assert_eq!(keys(&writer, stored_before).await, completed("was-named"));
    assert_eq!(keys(&writer, stored_after).await, completed("new-name"));
}

#[tokio::test]
async fn a_second_bounded_context_on_one_store_does_not_start() {
    let store = in_memory().await.unwrap();
    let context = |name: &str| Inbox::builder(store.clone()).context(name).build();
    let billing = context("billing").await.unwrap();
    let Err(Error::Store(error)) = context("shipping").await else { panic!("it started") };
    assert_eq!(error.kind(), StoreErrorKind::ContextTaken);
    let said = "handlers of context `shipping` cannot be registered beside handler key `book` of \
                context `billing`";
    assert!(error.to_string().starts_with(said), "{error}");
    let Err(Error::Store(error)) = Inbox::builder(store.clone()).build().await else {
        panic!("what has no context started")
    };
    assert_eq!(error.kind(), StoreErrorKind::ContextTaken);
    // More of the same context, and those that only schedule, are welcome.
    context("billing").await.unwrap();
    let writer = writer(&store).await;
    let receipt = writer.scheduler().schedule(Event, ScheduleOptions::new()).await.unwrap();
    assert_eq!(billing.process_pending().await.unwrap().completed, 1);
    let expected = [(Some("book".to_owned()), DeliveryState::Completed)];
    assert_eq!(keys(&writer, receipt.message_id()).await, expected);
}
