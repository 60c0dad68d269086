//! Other processes are told, together and not each time.

use std::time::{Duration, Instant};

use inbox::postgres::PostgresOptions;
use inbox::schedule::{ScheduleOptions, Start};
use inbox::settle::{DeadReason, ErrorReport, Settlement};
use inbox::store::{Inspect as _, LeaseStore as _, Now, Settle, StateStore as _, Writer as _};
use inbox_testing::postgres::PostgresDatabase;

use crate::ear::Ear;
use crate::kit::{Pay, heard, held, lease, open, pool, routed, schedule, scheduler};
use crate::reach::{self, Reach as _};

/// Others are told no more often than this.
const REST: Duration = Duration::from_millis(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_thousand_messages_others_are_told_seldom_and_of_the_last_one_too() {
    let database = PostgresDatabase::create().await.unwrap();
    let options = reach::options().connections(16).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    routed(&store).await;
    let mut ear = Ear::new(&database).await;
    let begun = Instant::now();
    let tasks = (0..16).map(|task| {
        let store = store.clone();
        tokio::spawn(async move {
            for number in 0..125 {
                schedule(&store, task * 1_000 + number).await;
            }
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let told = ear.look_for(2_000).await;
    // A slow machine takes longer, so others may be told more often.
    let most = begun.elapsed().as_millis() / REST.as_millis() + 1;
    for task in tasks {
        task.await.unwrap();
    }
    assert!(told as u128 <= most, "others were told {told} times, and not {most}");
}

#[tokio::test]
async fn what_a_person_moves_is_told_to_others() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new()).await;
    let mut ear = Ear::new(&database).await;
    let later = ScheduleOptions::new().delay(Duration::from_mins(1));
    let receipt = scheduler(&store).schedule(Pay { id: 1 }, later).await.unwrap();
    // Of what is for later too: it may be due before what others sleep for.
    assert_eq!(ear.hear().await, "");
    let id = receipt.message_id();
    assert_eq!(store.reschedule(id, None, Start::Immediately, Now::OfStore).await.unwrap(), 1);
    ear.look_for(1).await;
    let error = ErrorReport::new("test", "given up");
    let settlement = Settlement::Dead { reason: DeadReason::AttemptsExhausted, error };
    let token = lease(&store).await[0].token;
    let settle = Settle::by_id(token, id, settlement);
    store.settle(vec![settle], Now::OfStore).await.unwrap()[0].unwrap();
    assert!(store.retry(id, "charge", Now::OfStore).await.unwrap());
    ear.look_for(1).await;
}

#[tokio::test]
async fn what_a_worker_abandons_rings_here() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new()).await;
    let token = held(&store).await;
    let mut bell = store.bell().unwrap().listener();
    store.abandon(vec![token], Now::OfStore);
    heard(&mut bell).await;
    assert_eq!(lease(&store).await.len(), 1);
}

#[tokio::test]
async fn a_store_on_a_given_pool_tells_others_and_cannot_listen() {
    let database = PostgresDatabase::create().await.unwrap();
    let options = PostgresOptions::new().reaching().ensure_schema();
    let store = options.open_pool(pool(&database)).await.unwrap();
    routed(&store).await;
    assert!(store.listen().is_none());
    let mut ear = Ear::new(&database).await;
    schedule(&store, 1).await;
    ear.look_for(1).await;
    let many = (2..4).map(|id| (Pay { id }, ScheduleOptions::new()));
    scheduler(&store).schedule_all(many).await.unwrap();
    ear.look_for(3).await;
    let bulk = (4..9).map(|id| (Pay { id }, ScheduleOptions::new()));
    scheduler(&store).schedule_bulk(bulk).await.unwrap();
    ear.look_for(8).await;
}

#[tokio::test]
async fn whoever_only_asks_tells_nothing_and_listens_to_nothing() {
    let database = PostgresDatabase::create().await.unwrap();
    let store = open(&database, PostgresOptions::new().without_notify()).await;
    let mut ear = Ear::new(&database).await;
    assert!(store.listen().is_none());
    let mut bell = store.bell().unwrap().listener();
    schedule(&store, 1).await;
    heard(&mut bell).await;
    store.wake();
    heard(&mut bell).await;
    assert_eq!(lease(&store).await.len(), 1);
    let mut client = database.connect().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let within = scheduler(&store).within(&transaction);
    within.schedule(Pay { id: 2 }, ScheduleOptions::new()).await.unwrap();
    transaction.commit().await.unwrap();
    while lease(&store).await.is_empty() {
        heard(&mut bell).await;
    }
    store.close().await;
    assert_eq!(ear.count().await, 0);
}
