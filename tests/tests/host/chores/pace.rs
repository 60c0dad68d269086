use std::time::{Duration, Instant};

use inbox::ScheduleOptions;
use inbox::postgres::tokio_postgres;
use inbox::store::StoreErrorKind;

use inbox_tests::faulty::{Trouble, Verb};

use crate::kit::{Gate, Task, What, builder, faulty_builder, schedule};

/// Statements of the server in each second of this time, or of as much as it takes.
async fn statements(client: &tokio_postgres::Client, time: Duration) -> i64 {
    let sql = "SELECT pg_stat_clear_snapshot(), xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    let begun = Instant::now();
    let first: i64 = client.query_one(sql, &[]).await.unwrap().get(1);
    tokio::time::sleep(time).await;
    let last: i64 = client.query_one(sql, &[]).await.unwrap().get(1);
    (last - first) / i64::try_from(begun.elapsed().as_secs()).unwrap().max(1)
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
    let held = statements(&client, Duration::from_secs(3)).await;
    holder.batch_execute("COMMIT").await.unwrap();
    gate.ended(1).await;
    host.shutdown(Duration::ZERO).await;
    assert!(held < 100, "{held}");
}

#[tokio::test(start_paused = true)]
async fn what_vanished_workers_held_comes_back_while_nothing_can_be_promoted() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.lease_duration(Duration::from_secs(1)).build().await.unwrap();
    store.trouble(Verb::Promote, Trouble::Fails(StoreErrorKind::Other), u32::MAX);
    schedule(inbox.scheduler(), 0..1, What::WaitOrStop).await;
    let host = inbox.start().unwrap();
    gate.began(1).await;
    // Its lease is over when nobody renews it, and then it is a vanished worker's.
    store.trouble(Verb::Renew, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    gate.until(|seen| seen.began.get(&0) == Some(&2)).await;
    assert!(!inbox.control().health().is_live(), "what cannot be promoted is no secret");
    store.heal();
    gate.permit(1);
    host.shutdown(Duration::from_secs(5)).await;
}
