//! What a host leases, and how much of it.

use std::sync::Arc;
use std::time::Duration;

use inbox::hosting::Health;
use inbox::store::{DeliveryState, Maintain as _, Now, Route};
use inbox::{Batch, ScheduleOptions, Scheduler, State, handler, inbox_contract};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::kit::{Gate, What, all_are, builder, health_is, schedule};

#[inbox_contract(name = "host.renamed", version = 1)]
#[derive(Serialize, Deserialize)]
struct Renamed {
    number: u64,
}

#[handler(key = "renamed-new", legacy = ["renamed-old"], batch = 10)]
async fn renamed(commands: Batch<Renamed>, State(gate): State<Gate>) {
    gate.tell(commands.iter().filter(|(_, one)| one.number < 1_000).count());
}

#[tokio::test]
async fn a_batch_handler_with_a_legacy_key_takes_what_is_stored_under_both() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let route = Route {
        contract: "host.renamed".to_owned(),
        handler_key: "renamed-old".to_owned(),
        supersedes: vec![],
        context: String::new(),
    };
    store.register_routes(vec![route], Now::OfStore).await.unwrap();
    let scheduler = Scheduler::new(Arc::new(store.clone()));
    for number in 0..3 {
        scheduler.schedule(Renamed { number }, ScheduleOptions::new()).await.unwrap();
    }
    let inbox = builder(store.clone(), &gate)
        .lease_duration(Duration::from_millis(300))
        .build()
        .await
        .unwrap();
    for number in 3..6 {
        inbox.scheduler().schedule(Renamed { number }, ScheduleOptions::new()).await.unwrap();
    }
    let host = inbox.start().unwrap();
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 6);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn nothing_is_leased_for_a_slot_that_is_kept_for_others() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let first = builder(store.clone(), &gate).concurrency(8).build().await.unwrap();
    let other = builder(store.clone(), &gate).concurrency(8).build().await.unwrap();
    let _first = first.start().unwrap();
    schedule(first.scheduler(), 0..8, What::Wait).await;
    gate.until(|seen| seen.running >= 6).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let _other = other.start().unwrap();
    let begun = Instant::now();
    gate.began(8).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_poll_interval_without_end_is_one() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).poll_interval(Duration::MAX).build().await.unwrap();
    let _host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    health_is(&inbox, Health::is_live).await;
}

#[tokio::test]
async fn a_buffer_without_bound_is_one() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).buffer(usize::MAX).build().await.unwrap();
    let _host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    health_is(&inbox, Health::is_live).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_took_longer_than_a_lease_is_renewed_before_it_is_begun() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    // By the store's own clock, which goes on as it always does.
    let inbox = builder(store.clone(), &gate).renew_in_place();
    let inbox = inbox.lease_duration(Duration::from_secs(5)).concurrency(1).build().await.unwrap();
    // Claims wait for a connection for longer than a lease holds, and then are given all of it.
    store.trouble(Verb::Lease, Trouble::Slow(Duration::from_secs(6)), u32::MAX);
    schedule(inbox.scheduler(), 0..5, What::WaitOrStop).await;
    let _host = inbox.start().unwrap();
    gate.began(1).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    // Leased again and again, it would be begun and lost each time.
    assert!(gate.seen().began.values().all(|times| *times == 1), "{:?}", gate.seen());
    gate.permit(5);
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 5);
}
