//! Each role's part, from end to end.

use std::time::Duration;

use inbox::postgres::PostgresStore;
use inbox::schedule::{Acceptance, ScheduleError};
use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _, StoreErrorKind};
use inbox::{Inbox, ScheduleOptions};
use inbox_testing::postgres::PostgresDatabase;

use crate::kit::{Pay, config, database, open};

async fn scheduler_only(database: &PostgresDatabase, role: &str) -> Inbox<PostgresStore> {
    let store = open(database, role).await.unwrap();
    Inbox::builder(store).scheduler_only().build().await.unwrap()
}

async fn schedule(inbox: &Inbox<PostgresStore>, id: u64) -> Acceptance {
    let receipt = inbox.scheduler().schedule(Pay { id }, ScheduleOptions::new()).await;
    receipt.unwrap().acceptance()
}

#[tokio::test]
async fn a_process_that_only_schedules_runs_as_a_writer() {
    let database = database().await;
    let inbox = scheduler_only(&database, "inbox_writer").await;
    assert_eq!(schedule(&inbox, 1).await, Acceptance::Accepted);
    let again = Acceptance::AlreadyAccepted { payload_matches: true };
    assert_eq!(schedule(&inbox, 1).await, again);
    let many = (1..4).map(|id| (Pay { id }, ScheduleOptions::new()));
    let receipts = inbox.scheduler().schedule_all(many).await.unwrap();
    let accepted: Vec<_> =
        receipts.iter().map(|receipt| receipt.as_ref().unwrap().acceptance()).collect();
    assert_eq!(accepted, [again, Acceptance::Accepted, Acceptance::Accepted]);
    // In a transaction of the application's, too, whose connection is a writer's.
    let mut config = config(&database, "inbox_writer");
    let connected = config.application_name("shop").connect(inbox::postgres::tokio_postgres::NoTls);
    let (mut client, connection) = connected.await.unwrap();
    tokio::spawn(async move { connection.await.ok() });
    let transaction = client.transaction().await.unwrap();
    let within = inbox.scheduler().within(&transaction);
    within.schedule(Pay { id: 4 }, ScheduleOptions::new()).await.unwrap();
    let receipt = within.schedule(Pay { id: 4 }, ScheduleOptions::new()).await.unwrap();
    assert_eq!(receipt.acceptance(), again);
    transaction.commit().await.unwrap();
    let owner = database.connect().await.unwrap();
    let count = owner.query_one("SELECT count(*) FROM inbox.message", &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), 4);
}

#[tokio::test]
async fn a_writer_that_does_more_is_told_which_role_it_takes() {
    let database = database().await;
    let store = open(&database, "inbox_writer").await.unwrap();
    let refused = Inbox::builder(store.clone()).build().await.unwrap_err().to_string();
    assert!(refused.contains("to work one of `inbox_worker`"), "{refused}");
    let error = store.counts().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly, "{error}");
    assert!(error.to_string().contains("`inbox_operator`"), "{error}");
    let inbox = Inbox::builder(store).scheduler_only().build().await.unwrap();
    let load = inbox.scheduler().schedule_bulk([(Pay { id: 1 }, ScheduleOptions::new())]).await;
    let Err(ScheduleError::Store(error)) = load else { panic!("{load:?}") };
    assert!(error.to_string().contains("to load in bulk one of `inbox_bulk_writer`"), "{error}");
}

#[tokio::test]
async fn an_operator_that_schedules_is_told_which_role_it_takes() {
    let database = database().await;
    let inbox = scheduler_only(&database, "inbox_operator").await;
    let refused = inbox.scheduler().schedule(Pay { id: 1 }, ScheduleOptions::new()).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("to schedule takes a member of `inbox_writer`"), "{error}");
}

#[tokio::test]
async fn a_bulk_writer_copies_what_has_a_key_and_what_has_none() {
    let database = database().await;
    let inbox = scheduler_only(&database, "inbox_bulk_writer").await;
    assert_eq!(schedule(&inbox, 1).await, Acceptance::Accepted);
    let keyed = (0..3).map(|id| (Pay { id }, ScheduleOptions::new()));
    let receipt = inbox.scheduler().schedule_bulk(keyed).await.unwrap();
    assert_eq!((receipt.accepted, receipt.already_accepted), (2, 1));
}

#[tokio::test]
async fn a_worker_runs_a_host_and_an_operator_looks_after_it() {
    let database = database().await;
    let store = open(&database, "inbox_worker").await.unwrap();
    let inbox = Inbox::builder(store).build().await.unwrap();
    let host = inbox.start().unwrap();
    let writer = scheduler_only(&database, "inbox_writer").await;
    for id in [1, 2, 1000] {
        assert_eq!(schedule(&writer, id).await, Acceptance::Accepted);
    }
    // A handler may schedule what comes next.
    assert_eq!(schedule(&inbox, 3).await, Acceptance::Accepted);

    let operator = scheduler_only(&database, "inbox_operator").await;
    let count = async |state| -> usize {
        operator.list(DeliveryFilter::in_state(state)).await.unwrap().deliveries.len()
    };
    while count(DeliveryState::Completed).await < 3 || count(DeliveryState::Dead).await < 1 {
        tokio::task::yield_now().await;
    }
    host.shutdown(Duration::from_mins(10)).await;
    let dead = operator.list(DeliveryFilter::in_state(DeliveryState::Dead)).await.unwrap();
    let id = dead.deliveries[0].message_id;
    assert_eq!(operator.status(id).await.unwrap().unwrap().attempts.len(), 2);
    assert!(operator.retry(id, "pay").await.unwrap());
    operator.reschedule(id, inbox::schedule::Start::After(Duration::from_hours(1))).await.unwrap();
    assert_eq!(count(DeliveryState::Waiting).await, 1);
    assert_eq!(operator.cancel(id).await.unwrap().at_once, 1);
    assert_eq!(count(DeliveryState::Cancelled).await, 1);
}
