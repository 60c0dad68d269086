//! A commit that the store does not see is told all the same.

use std::time::{Duration, Instant};

use inbox::postgres::PostgresOptions;
use inbox::schedule::ScheduleOptions;
use inbox::store::LeaseStore as _;
use inbox_testing::postgres::PostgresDatabase;
use tokio::time::timeout;

use crate::ear::Ear;
use crate::kit::{Pay, heard, lease, open, scheduler};
use crate::reach::PATIENCE;

/// So long a store tells of what may be committed.
const EXPECTED: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_commit_of_the_callers_is_heard_here_and_elsewhere_without_a_word() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new()).await;
    let (mut ear, mut bell) = (Ear::new(&database).await, store.bell().unwrap().listener());
    let started = Instant::now();
    let mut client = database.connect().await.unwrap();
    loop {
        let begun = Instant::now();
        let transaction = client.transaction().await.unwrap();
        let within = scheduler(&store).within(&transaction);
        within.schedule(Pay { id: 1 }, ScheduleOptions::new()).await.unwrap();
        // Not committed yet when others look.
        let others = async {
            for _ in 0..3 {
                assert_eq!(ear.hear().await, "");
                heard(&mut bell).await;
                assert!(lease(&store).await.is_empty());
            }
        };
        let all_looked = timeout(EXPECTED, others).await.is_ok();
        transaction.commit().await.unwrap();
        // On a machine that is too busy the store has given up before the commit: then it says nothing.
        if all_looked && begun.elapsed() < EXPECTED {
            break;
        }
        while lease(&store).await.is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(started.elapsed() < PATIENCE, "others do not hear of what is not committed");
    }
    ear.look_for(1).await;
    while lease(&store).await.is_empty() {
        heard(&mut bell).await;
    }
}

#[tokio::test]
async fn whoever_says_that_it_is_committed_is_heard_at_once() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new()).await;
    let (mut ear, mut bell) = (Ear::new(&database).await, store.bell().unwrap().listener());
    let scheduler = scheduler(&store);
    scheduler.wake();
    heard(&mut bell).await;
    assert_eq!(ear.hear().await, "");
}

#[tokio::test]
async fn a_store_that_closes_tells_a_last_time_and_leaves_nothing_behind() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new()).await;
    let mut ear = Ear::new(&database).await;
    let mut client = database.connect().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let within = scheduler(&store).within(&transaction);
    let begun = Instant::now();
    within.schedule(Pay { id: 1 }, ScheduleOptions::new()).await.unwrap();
    drop(within);
    transaction.commit().await.unwrap();
    store.close().await;
    let was_expected = begun.elapsed() < EXPECTED;
    // It would be nine over two seconds, which a busy machine may take to come to the end.
    let told = ear.count().await;
    let most = if was_expected { 8 } else { 9 };
    assert!((1..=most).contains(&told), "others were told {told} times");
}
