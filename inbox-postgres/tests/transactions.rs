//! What the guide to transactions says of waiting, failing and going back.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::{Acceptance, Receipt, ScheduleError};
use inbox::store::StoreErrorKind;
use inbox::{Inbox, ScheduleOptions, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "ship", version = 1, idempotency_key = "ship-{order}")]
#[derive(Serialize, Deserialize)]
struct Ship {
    order: i64,
}

async fn application() -> (PostgresDatabase, Inbox<PostgresStore>) {
    let database = PostgresDatabase::create().await.unwrap();
    let options = PostgresOptions::new().connections(1).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    (database, Inbox::builder(store).build().await.unwrap())
}

#[tokio::test]
async fn a_savepoint_that_is_rolled_back_takes_its_command_with_it_and_frees_the_key() {
    let (database, inbox) = application().await;
    let mut client = reach::connect(&database).await;
    let mut transaction = client.transaction().await.unwrap();
    let savepoint = transaction.transaction().await.unwrap();
    let schedule = async |within: inbox::postgres::WithinTransaction<'_>| -> Receipt {
        within.schedule(Ship { order: 42 }, ScheduleOptions::new()).await.unwrap()
    };
    let lost = schedule(inbox.scheduler().within(&savepoint)).await;
    savepoint.rollback().await.unwrap();
    let kept = schedule(inbox.scheduler().within(&transaction)).await;
    transaction.commit().await.unwrap();
    assert!(inbox.status(lost.message_id()).await.unwrap().is_none());
    assert!(inbox.status(kept.message_id()).await.unwrap().is_some());
}

#[tokio::test]
async fn what_no_store_would_take_leaves_the_transaction_as_it_was() {
    let (database, inbox) = application().await;
    let mut client = reach::connect(&database).await;
    let transaction = client.transaction().await.unwrap();
    let within = inbox.scheduler().within(&transaction);
    let impossible = ScheduleOptions::new().idempotency_key("");
    within.schedule(Ship { order: 42 }, impossible).await.unwrap_err();
    let receipt = within.schedule(Ship { order: 42 }, ScheduleOptions::new()).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(inbox.status(receipt.message_id()).await.unwrap().is_some());
}

#[tokio::test]
async fn of_two_that_wait_for_each_other_one_is_told_that_it_may_try_again() {
    let (database, inbox) = application().await;
    let mut clients = [reach::connect(&database).await, reach::connect(&database).await];
    let [first, second] = &mut clients;
    let first = first.transaction().await.unwrap();
    let second = second.transaction().await.unwrap();
    let (first, second) = (inbox.scheduler().within(&first), inbox.scheduler().within(&second));
    let (one, other) = (Ship { order: 1 }, Ship { order: 2 });
    first.schedule(one, ScheduleOptions::new()).await.unwrap();
    second.schedule(other, ScheduleOptions::new()).await.unwrap();
    let (first, second) = tokio::join!(
        first.schedule(Ship { order: 2 }, ScheduleOptions::new()),
        second.schedule(Ship { order: 1 }, ScheduleOptions::new()),
    );
    let (ended, other) = if first.is_err() { (first, second) } else { (second, first) };
    let Err(ScheduleError::Store(error)) = ended else { panic!("{ended:?}") };
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    assert!(error.is_transient());
    // It was in nobody's way any more.
    assert_eq!(other.unwrap().acceptance(), Acceptance::Accepted);
}
