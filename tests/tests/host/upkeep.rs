use std::time::Duration;

use inbox::ScheduleOptions;
use inbox::postgres::tokio_postgres;

use crate::kit::{Gate, Task, What, builder};

/// Statements of the server in this time.
async fn statements(client: &tokio_postgres::Client, time: Duration) -> i64 {
    let sql = "SELECT pg_stat_clear_snapshot(), xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    let first: i64 = client.query_one(sql, &[]).await.unwrap().get(1);
    tokio::time::sleep(time).await;
    let last: i64 = client.query_one(sql, &[]).await.unwrap().get(1);
    last - first
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_due_row_that_someone_holds_does_not_make_upkeep_spin() {
    let database = inbox::testing::postgres::PostgresDatabase::create().await.unwrap();
    let options = inbox::postgres::PostgresOptions::new().ensure_schema().connections(4);
    let store = options.open(&database.url()).await.unwrap();
    let gate = Gate::default();
    let inbox = builder(store, &gate).build().await.unwrap();
    let client = database.connect().await.unwrap();
    let holder = database.connect().await.unwrap();
    let options = ScheduleOptions::new().delay(Duration::from_secs(2));
    inbox.scheduler().schedule(Task { number: 0, what: What::Pass }, options).await.unwrap();
    holder.batch_execute("BEGIN; SELECT 1 FROM inbox.waiting FOR UPDATE").await.unwrap();
    let host = inbox.start().unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let held = statements(&client, Duration::from_secs(3)).await / 3;
    holder.batch_execute("COMMIT").await.unwrap();
    gate.ended(1).await;
    host.shutdown(Duration::ZERO).await;
    assert!(held < 100, "{held}");
}
