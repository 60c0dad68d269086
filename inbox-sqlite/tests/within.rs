//! Commands that are stored together with the application's own rows, or not at all.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::path::PathBuf;
use std::sync::Arc;

use inbox::schedule::{Acceptance, OnConflict, ScheduleError, ScheduleOptions, Scheduler};
use inbox::sqlite::rusqlite::{Connection, TransactionBehavior};
use inbox::sqlite::{SqliteStore, open};
use inbox::store::{Inspect as _, StoreErrorKind};
use inbox::{Inbox, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

#[inbox_contract(name = "pay", version = 1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
    cents: u64,
}

#[handler(key = "pay")]
async fn pay(_command: Pay) {}

struct Application {
    scheduler: Scheduler<SqliteStore>,
    inbox: Inbox<SqliteStore>,
    connection: Connection,
    _directory: TempDir,
}

async fn application() -> Application {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("application.db");
    let store = open(&path).await.unwrap();
    let inbox = Inbox::builder(store).state(path.clone()).build().await.unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE orders (id INTEGER)").unwrap();
    let scheduler = inbox.scheduler().clone();
    Application { scheduler, inbox, connection, _directory: directory }
}

#[tokio::test]
async fn a_committed_transaction_stores_the_command_with_the_rows() {
    let mut application = application().await;
    let transaction =
        application.connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction.execute("INSERT INTO orders VALUES (1)", []).unwrap();
    let within = application.scheduler.within(&transaction);
    let receipt = within.schedule(Pay { id: 1, cents: 5 }, ScheduleOptions::new()).unwrap();
    let again = within.schedule(Pay { id: 1, cents: 5 }, ScheduleOptions::new()).unwrap();
    assert_eq!(receipt.acceptance(), Acceptance::Accepted);
    assert_eq!(again.acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
    // Nobody sees it before the commit.
    assert!(application.inbox.status(receipt.message_id()).await.unwrap().is_none());
    transaction.commit().unwrap();
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1);
}

#[tokio::test]
async fn a_transaction_that_is_rolled_back_leaves_nothing() {
    let mut application = application().await;
    let transaction = application.connection.transaction().unwrap();
    let within = application.scheduler.within(&transaction);
    let receipt = within.schedule(Pay { id: 1, cents: 5 }, ScheduleOptions::new()).unwrap();
    transaction.rollback().unwrap();
    assert!(application.inbox.status(receipt.message_id()).await.unwrap().is_none());
    assert!(application.inbox.store().counts().await.unwrap().is_empty());
    let options = ScheduleOptions::new();
    let again = application.scheduler.schedule(Pay { id: 1, cents: 5 }, options).await.unwrap();
    assert_eq!(again.acceptance(), Acceptance::Accepted);
}

#[tokio::test]
async fn a_command_that_fails_halfway_leaves_nothing_whatever_the_caller_does() {
    let mut application = application().await;
    application
        .connection
        .execute_batch(
            "CREATE TRIGGER broken BEFORE INSERT ON inbox_ready
             BEGIN SELECT raise(ABORT, 'not today'); END",
        )
        .unwrap();
    let transaction = application.connection.transaction().unwrap();
    let within = application.scheduler.within(&transaction);
    within.schedule(Pay { id: 1, cents: 5 }, ScheduleOptions::new()).unwrap_err();
    transaction.execute("INSERT INTO orders VALUES (1)", []).unwrap();
    transaction.commit().unwrap();
    application.connection.execute_batch("DROP TRIGGER broken").unwrap();
    let options = ScheduleOptions::new();
    let again = application.scheduler.schedule(Pay { id: 1, cents: 5 }, options).await.unwrap();
    assert_eq!(again.acceptance(), Acceptance::Accepted);
}

#[handler(key = "ship")]
async fn ship(
    command: Ship,
    State(scheduler): State<Scheduler<SqliteStore>>,
    State(file): State<PathBuf>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut connection = Connection::open(file)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("INSERT INTO orders VALUES (?1)", [command.order])?;
    scheduler.within(&transaction).schedule(Pay { id: 7, cents: 5 }, ScheduleOptions::new())?;
    Ok(transaction.commit()?)
}

#[inbox_contract(name = "ship", version = 1)]
#[derive(Serialize, Deserialize)]
struct Ship {
    order: i64,
}

#[tokio::test]
async fn a_handler_is_given_a_scheduler_for_its_own_transactions() {
    let application = application().await;
    application.scheduler.schedule(Ship { order: 3 }, ScheduleOptions::new()).await.unwrap();
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 2);
}

#[tokio::test]
async fn a_conflict_within_a_transaction_is_the_same_typed_error() {
    let mut application = application().await;
    let options = ScheduleOptions::new();
    let first = application.scheduler.schedule(Pay { id: 1, cents: 5 }, options).await.unwrap();
    let mut transaction = application.connection.transaction().unwrap();
    let savepoint = transaction.savepoint().unwrap();
    let strict = ScheduleOptions::new().on_conflict(OnConflict::Refuse);
    let within = application.scheduler.within(&savepoint);
    let error = within.schedule(Pay { id: 1, cents: 6 }, strict).unwrap_err();
    assert!(
        matches!(&error, ScheduleError::Conflict { first: id, .. } if *id == first.message_id()),
        "{error}"
    );
}

#[tokio::test]
async fn a_transaction_on_another_file_is_told_which_file_it_needs() {
    let application = application().await;
    let mut elsewhere = Connection::open_in_memory().unwrap();
    let transaction = elsewhere.transaction().unwrap();
    let within = application.scheduler.within(&transaction);
    let error = within.schedule(Pay { id: 1, cents: 5 }, ScheduleOptions::new()).unwrap_err();
    let ScheduleError::Store(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), StoreErrorKind::Schema);
    assert!(error.to_string().contains("a connection to that same file"), "{error}");
}

#[test]
fn schedulers_and_inboxes_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Scheduler>();
    shared::<Scheduler<SqliteStore>>();
    shared::<Inbox<SqliteStore>>();
    shared::<Arc<dyn inbox::store::Store>>();
}

#[tokio::test]
async fn the_futures_can_be_spawned() {
    let application = application().await;
    let (scheduler, inbox) = (application.scheduler.clone(), application.inbox.clone());
    let spawned = tokio::spawn(async move {
        scheduler.schedule(Pay { id: 1, cents: 1 }, ScheduleOptions::new()).await.unwrap();
        let many = (2..4).map(|id| (Pay { id, cents: 1 }, ScheduleOptions::new()));
        scheduler.schedule_all(many).await.unwrap();
        inbox.run_now(Pay { id: 9, cents: 1 }).await.unwrap();
        inbox.process_pending().await.unwrap()
    });
    assert_eq!(spawned.await.unwrap().completed, 3);
}
