//! Who handles what is known to the store, not only to the program that schedules.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::time::Duration;

use inbox::registry::Catalog;
use inbox::sqlite::{SqliteStore, in_memory};
use inbox::store::DeliveryState;
use inbox::{Inbox, ScheduleOptions, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "event", version = 1)]
#[derive(Serialize, Deserialize)]
struct Event;

#[handler(key = "old-name", context = "old")]
async fn old_name(_event: Event) {}

#[handler(key = "new-name", legacy = ["was-named"], context = "new")]
async fn new_name(_event: Event) {}

#[handler(key = "was-elsewhere", context = "elsewhere")]
async fn elsewhere(_event: Event) {}

/// A program with the handlers of one context.
async fn worker(store: &SqliteStore, context: &str) -> Inbox<SqliteStore> {
    Inbox::builder(store.clone()).context(context).build().await.unwrap()
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
    let (old, new) = (worker(&store, "old").await, worker(&store, "new").await);
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
    let old = worker(&store, "old").await;
    let some = |key: &str| Some(key.to_owned());
    let expected = [(some("old-name"), DeliveryState::Pending)];
    assert_eq!(keys(&writer, receipt.message_id()).await, expected);
    let expected = [(some("old-name"), DeliveryState::Waiting)];
    assert_eq!(keys(&writer, later.message_id()).await, expected);
    assert_eq!(old.process_pending().await.unwrap().completed, 1);
    // A second handler is given only what is accepted from now on.
    let new = worker(&store, "new").await;
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
    };
    store.register_routes(vec![before.clone()], Now::OfStore).await.unwrap();
    let writer = writer(&store).await;
    let schedule = async || {
        let receipt = writer.scheduler().schedule(Event, ScheduleOptions::new()).await.unwrap();
        receipt.message_id()
    };
    let stored_before = schedule().await;
    let new = worker(&store, "new").await;
    // A program of the old name starts once more: the name stays superseded.
    store.register_routes(vec![before], Now::OfStore).await.unwrap();
    let stored_after = schedule().await;
    assert_eq!(new.process_pending().await.unwrap().completed, 2);
    let completed = |key: &str| [(Some(key.to_owned()), DeliveryState::Completed)];
    assert_eq!(keys(&writer, stored_before).await, completed("was-named"));
    assert_eq!(keys(&writer, stored_after).await, completed("new-name"));
}
