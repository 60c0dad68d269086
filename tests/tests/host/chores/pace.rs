//! How often a host asks the store for its chores.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use inbox::ScheduleOptions;
use inbox::postgres::tokio_postgres;
use inbox_tests::faulty::Verb;
use tokio::time::sleep;

use super::kit::{CHORES, is_well};
use crate::kit::{Gate, Task, What, builder, faulty, faulty_builder, health_is};

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
async fn a_due_row_that_someone_holds_does_not_make_promote_spin() {
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
async fn an_idle_host_asks_the_store_four_times_a_second_and_not_at_one_moment() {
    let (inbox, store) = faulty(&Gate::default()).await;
    let host = inbox.start().unwrap();
    health_is(&inbox, is_well).await;
    let first = CHORES.map(|(verb, _)| store.calls(verb).last);
    // The next due time is asked for in the same round as promoting.
    let moments: BTreeSet<_> = first.into_iter().flatten().collect();
    assert!(moments.len() >= 5, "{first:?}");
    let begun = || CHORES.map(|(verb, _)| store.calls(verb).begun).into_iter().sum::<u64>();
    let (before, seconds) = (begun(), 100);
    sleep(Duration::from_secs(seconds)).await;
    let asked = begun() - before;
    // Promote, next due, reclaim and route every second; the others every ten.
    assert!((seconds * 4..=seconds * 44 / 10).contains(&asked), "{asked} in {seconds} s");
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_poll_interval_below_a_second_holds_for_promoting_alone() {
    let (inbox, store) = faulty_builder(&Gate::default()).await;
    let inbox = inbox.poll_interval(Duration::from_millis(100)).build().await.unwrap();
    let host = inbox.start().unwrap();
    health_is(&inbox, is_well).await;
    let before = [Verb::Promote, Verb::Reclaim, Verb::Route].map(|verb| store.calls(verb).begun);
    sleep(Duration::from_secs(10)).await;
    let after = [Verb::Promote, Verb::Reclaim, Verb::Route].map(|verb| store.calls(verb).begun);
    assert!(after[0] - before[0] >= 95, "{before:?} {after:?}");
    assert!(after[1] - before[1] <= 11 && after[2] - before[2] <= 11, "{before:?} {after:?}");
    host.shutdown(Duration::ZERO).await;
}
