//! Databases whose transactions are stricter than PostgreSQL's, unless told otherwise.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::sync::Arc;

use inbox::postgres::PostgresStore;
use inbox::postgres::deadpool_postgres::{Manager, Pool};
use inbox::postgres::tokio_postgres::NoTls;
use inbox::schedule::ScheduleOptions;
use inbox::{Inbox, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

#[inbox_contract(name = "pay", version = 1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
}

#[handler(key = "pay")]
async fn pay(_command: Pay) {}

/// Everyone migrates, schedules the same commands and works on them, at once.
async fn crowd(open: impl AsyncFn() -> PostgresStore) -> u64 {
    let barrier = Arc::new(Barrier::new(6));
    let mut workers = Vec::new();
    for _ in 0..6 {
        let (store, barrier) = (open().await, Arc::clone(&barrier));
        workers.push(tokio::spawn(async move {
            barrier.wait().await;
            store.ensure_schema().await.unwrap();
            let inbox = Inbox::builder(store).build().await.unwrap();
            barrier.wait().await;
            for id in 0..50 {
                inbox.scheduler().schedule(Pay { id }, ScheduleOptions::new()).await.unwrap();
            }
            let commands = (40..90).map(|id| (Pay { id }, ScheduleOptions::new()));
            inbox.scheduler().schedule_bulk(commands).await.unwrap();
            barrier.wait().await;
            let mut completed = 0;
            loop {
                let report = inbox.process_pending().await.unwrap();
                completed += report.completed;
                if report.leased == 0 {
                    return completed;
                }
            }
        }));
    }
    let mut completed = 0;
    for worker in workers {
        completed += worker.await.unwrap();
    }
    completed
}

async fn strict() -> PostgresDatabase {
    let database = PostgresDatabase::create().await.unwrap();
    let client = database.connect().await.unwrap();
    let strict =
        format!("ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'");
    client.batch_execute(&strict).await.unwrap();
    database
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stricter_default_of_the_database_disturbs_nobody() {
    let database = strict().await;
    let completed = crowd(async || {
        let options = reach::options().connections(2).ensure_schema();
        options.open_on(&database).await.unwrap()
    });
    assert_eq!(completed.await, 90);
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_it_on_pools_that_the_application_made() {
    let database = strict().await;
    let completed = crowd(async || {
        let manager = Manager::new(reach::config(&database), NoTls);
        let pool = Pool::builder(manager).max_size(2).build().unwrap();
        reach::options().reaching().ensure_schema().open_pool(pool).await.unwrap()
    });
    assert_eq!(completed.await, 90);
}
