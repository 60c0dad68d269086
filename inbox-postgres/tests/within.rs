//! Commands that are stored together with the application's own rows, or not at all.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::sync::Arc;
use std::time::Duration;

use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::{Acceptance, ScheduleError, ScheduleOptions, Scheduler};
use inbox::store::{Inspect as _, StoreError, StoreErrorKind};
use inbox::{Inbox, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::{Reach as _, at_last};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
    cents: u64,
}

#[handler(key = "pay")]
async fn pay(_command: Pay) {}

fn payment() -> Pay {
    Pay { id: 1, cents: 5 }
}

async fn application(connections: usize) -> (PostgresDatabase, Inbox<PostgresStore>) {
    let database = PostgresDatabase::create().await.unwrap();
    let options = reach::options().connections(connections).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    (database, Inbox::builder(store).build().await.unwrap())
}

#[tokio::test]
async fn a_committed_transaction_stores_the_command_and_one_rolled_back_leaves_nothing() {
    let (database, inbox) = application(2).await;
    let mut client = reach::connect(&database).await;
    for commits in [false, true] {
        let transaction = client.transaction().await.unwrap();
        let within = inbox.scheduler().within(&transaction);
        let receipt = within.schedule(payment(), ScheduleOptions::new()).await.unwrap();
        assert_eq!(receipt.acceptance(), Acceptance::Accepted);
        let again = within.schedule(payment(), ScheduleOptions::new()).await.unwrap();
        assert_eq!(again.acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
        // Nobody sees it before the commit.
        assert!(inbox.status(receipt.message_id()).await.unwrap().is_none());
        match commits {
            true => transaction.commit().await.unwrap(),
            false => transaction.rollback().await.unwrap(),
        }
        assert_eq!(inbox.process_pending().await.unwrap().completed, u64::from(commits));
    }
}

#[tokio::test]
async fn a_transaction_of_the_pool_works_as_well() {
    let (database, inbox) = application(1).await;
    let manager = inbox::postgres::deadpool_postgres::Manager::new(
        reach::config(&database),
        inbox::postgres::tokio_postgres::NoTls,
    );
    let pool = inbox::postgres::deadpool_postgres::Pool::builder(manager).build().unwrap();
    let mut connection = pool.get().await.unwrap();
    let transaction = connection.transaction().await.unwrap();
    let within = inbox.scheduler().within(&transaction);
    within.schedule(payment(), ScheduleOptions::new()).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(inbox.process_pending().await.unwrap().completed, 1);
}

#[tokio::test]
async fn an_acceptance_that_is_under_way_is_waited_for_and_recognised() {
    let (database, inbox) = application(2).await;
    let mut client = reach::connect(&database).await;
    for commits in [false, true] {
        let transaction = client.transaction().await.unwrap();
        let within = inbox.scheduler().within(&transaction);
        let first = within.schedule(payment(), ScheduleOptions::new()).await.unwrap();
        // Another program schedules the same command, and waits for the unique key.
        let scheduler = inbox.scheduler().clone();
        let second = tokio::spawn(async move {
            scheduler.schedule(payment(), ScheduleOptions::new()).await.unwrap()
        });
        until_waiting(&database, 1).await;
        match commits {
            true => transaction.commit().await.unwrap(),
            false => transaction.rollback().await.unwrap(),
        }
        let second = second.await.unwrap();
        let is_first = second.message_id() == first.message_id();
        assert_eq!((is_first, second.acceptance() == Acceptance::Accepted), (commits, !commits));
        let client = database.connect().await.unwrap();
        client.batch_execute("TRUNCATE inbox.message, inbox.ready").await.unwrap();
    }
}

#[tokio::test]
async fn two_open_transactions_with_one_key_end_in_one_message_and_no_deadlock() {
    let (database, inbox) = application(2).await;
    let mut client = reach::connect(&database).await;
    let first = client.transaction().await.unwrap();
    let within = inbox.scheduler().within(&first);
    let receipt = within.schedule(payment(), ScheduleOptions::new()).await.unwrap();
    let (mut other, scheduler) = (reach::connect(&database).await, inbox.scheduler().clone());
    let second = tokio::spawn(async move {
        let second = other.transaction().await.unwrap();
        let within = scheduler.within(&second);
        // Something of its own first, so that there is something to wait for on both sides.
        let own = Pay { id: 2, cents: 5 };
        within.schedule(own, ScheduleOptions::new()).await.unwrap();
        let receipt = within.schedule(payment(), ScheduleOptions::new()).await.unwrap();
        second.commit().await.unwrap();
        receipt
    });
    until_waiting(&database, 1).await;
    // The first goes on meanwhile: nothing that it does waits for the second.
    let more = Pay { id: 3, cents: 5 };
    within.schedule(more, ScheduleOptions::new()).await.unwrap();
    first.commit().await.unwrap();
    let again = second.await.unwrap();
    assert_eq!(again.acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
    assert_eq!(again.message_id(), receipt.message_id());
    assert_eq!(inbox.process_pending().await.unwrap().completed, 3);
}

/// Until so many statements wait for another transaction.
async fn until_waiting(database: &PostgresDatabase, count: i64) {
    let client = database.connect().await.unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) != count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_commits_late_is_found_behind_what_was_handled_meanwhile() {
    let (database, inbox) = application(2).await;
    let mut client = reach::connect(&database).await;
    let transaction = client.transaction().await.unwrap();
    let within = inbox.scheduler().within(&transaction);
    let late = within.schedule(payment(), ScheduleOptions::new()).await.unwrap();
    for id in 2..50 {
        let command = Pay { id, cents: 5 };
        inbox.scheduler().schedule(command, ScheduleOptions::new()).await.unwrap();
    }
    assert_eq!(inbox.process_pending().await.unwrap().completed, 48);
    transaction.commit().await.unwrap();
    // By a sweep, which comes as often as it is cheap.
    while inbox.process_pending().await.unwrap().completed == 0 {}
    let status = inbox.status(late.message_id()).await.unwrap().unwrap();
    assert_eq!(status.deliveries[0].state, inbox::store::DeliveryState::Completed);
}

#[tokio::test]
async fn under_repeatable_read_a_conflict_is_a_typed_error() {
    let (database, inbox) = application(2).await;
    let mut client = reach::connect(&database).await;
    let transaction = client.transaction().await.unwrap();
    let isolation = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1";
    transaction.batch_execute(isolation).await.unwrap();
    inbox.scheduler().schedule(payment(), ScheduleOptions::new()).await.unwrap();
    let within = inbox.scheduler().within(&transaction);
    let error = within.schedule(payment(), ScheduleOptions::new()).await.unwrap_err();
    let ScheduleError::Store(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_transaction_on_another_database_is_told_that_the_schema_is_missing() {
    let (_database, inbox) = application(1).await;
    let elsewhere = PostgresDatabase::create().await.unwrap();
    let mut client = elsewhere.connect().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let within = inbox.scheduler().within(&transaction);
    let error = within.schedule(payment(), ScheduleOptions::new()).await.unwrap_err();
    let ScheduleError::Store(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), StoreErrorKind::Schema, "{error}");
}

async fn accept(scheduler: Scheduler<PostgresStore>, command: Pay) -> Result<(), StoreError> {
    match scheduler.schedule(command, ScheduleOptions::new()).await {
        Ok(_) => Ok(()),
        Err(ScheduleError::Store(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_holds_no_connection() {
    let (database, inbox) = application(1).await;
    // Enough for a busy machine to come to where it waits.
    let options = PostgresOptions::new().connections(1).call_timeout(Duration::from_secs(10));
    let store = at_last(async || options.clone().open_on(&database).await).await;
    let scheduler = Scheduler::new(Arc::new(store));
    let mut client = reach::connect(&database).await;
    let transaction = client.transaction().await.unwrap();
    scheduler.within(&transaction).schedule(payment(), ScheduleOptions::new()).await.unwrap();
    // Waits for the transaction that accepts the same key, until its patience ends.
    let waiting = tokio::spawn(accept(scheduler.clone(), payment()));
    until_waiting(&database, 1).await;
    let error = waiting.await.unwrap().unwrap_err();
    // Behind a pooler the server gives up at the same time, and whose word comes first is chance.
    let is_known = reach::is_pooled() && error.kind() == StoreErrorKind::Busy;
    assert!(is_known || error.kind() == StoreErrorKind::TimedOut, "{error}");
    until_waiting(&database, 0).await;
    // The only connection is not stuck behind it.
    at_last(async || accept(scheduler.clone(), Pay { id: 2, cents: 5 }).await).await;
    transaction.rollback().await.unwrap();
    let status = inbox.store().counts().await.unwrap();
    assert_eq!(status.iter().map(|count| count.count).sum::<u64>(), 1, "{status:?}");
}

#[tokio::test]
async fn a_pool_of_one_connection_is_enough() {
    let (_database, inbox) = application(1).await;
    for id in 0..20 {
        let command = Pay { id, cents: 5 };
        inbox.scheduler().schedule(command, ScheduleOptions::new()).await.unwrap();
    }
    assert_eq!(inbox.process_pending().await.unwrap().completed, 20);
    assert_eq!(inbox.store().counts().await.unwrap()[0].count, 20);
}
