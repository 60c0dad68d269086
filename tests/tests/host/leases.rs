//! Leases are kept, and what happens to those that are not.

use std::time::Duration;

use inbox::hosting::{Health, HostHandle};
use inbox::store::{DeliveryState, Inspect as _, StoreErrorKind};
use inbox::{Inbox, MessageId};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use tokio::time::Instant;

use crate::kit::{Gate, What, all_are, faulty, faulty_builder, health_is, schedule};

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_a_handler_that_runs() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    let id = schedule(inbox.scheduler(), 0..1, What::WaitOrStop).await[0];
    let host = inbox.start().unwrap();
    gate.began(1).await;
    inbox.cancel(id).await.unwrap();
    gate.ended(1).await;
    assert_eq!(all_are(&store, DeliveryState::Cancelled).await, 1);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_between_a_claim_and_its_answer_reaches_the_handler() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    store.trouble(Verb::Lease, Trouble::LateAnswer(Duration::from_secs(5)), 1);
    let id = schedule(inbox.scheduler(), 0..1, What::WaitOrStop).await[0];
    let host = inbox.start().unwrap();
    assert_eq!(all_are(&store, DeliveryState::Processing).await, 1);
    assert_eq!(inbox.cancel(id).await.unwrap().asked, 1);
    assert!(gate.seen().began.is_empty(), "the host does not know yet what it holds");
    // Begun or not: it is not tried again, and does not complete.
    assert_eq!(all_are(&store, DeliveryState::Cancelled).await, 1);
    host.shutdown(Duration::ZERO).await;
}

/// A host whose one call is at work, with another delivery in its buffer: number 51.
struct Ahead {
    gate: Gate,
    inbox: Inbox<FaultyStore>,
    store: FaultyStore,
    host: HostHandle,
    id: MessageId,
}

async fn leased_ahead() -> Ahead {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox
        .concurrency(1)
        .only_handlers(["work"])
        .lease_duration(Duration::from_secs(3))
        .build()
        .await
        .unwrap();
    // Fast at first, so that the host leases ahead.
    schedule(inbox.scheduler(), 0..50, What::Pass).await;
    let host = inbox.start().unwrap();
    gate.ended(50).await;
    schedule(inbox.scheduler(), 50..51, What::Wait).await;
    gate.began(51).await;
    let id = schedule(inbox.scheduler(), 51..52, What::Pass).await[0];
    health_is(&inbox, |health| health.load.buffered == 1).await;
    Ahead { gate, inbox, store, host, id }
}

#[tokio::test(start_paused = true)]
async fn what_was_cancelled_while_it_waited_is_not_begun() {
    let Ahead { gate, inbox, store, host, id } = leased_ahead().await;
    assert_eq!(inbox.cancel(id).await.unwrap().asked, 1);
    // By the clock that stands still: a renewal lies between, and the buffer is not stale yet.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    gate.permit(1);
    let state = async || store.show(id).await.unwrap().unwrap().deliveries[0].state;
    while state().await == DeliveryState::Processing {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(state().await, DeliveryState::Cancelled);
    assert!(!gate.seen().began.contains_key(&51), "{:?}", gate.seen());
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_under_an_overdue_lease_is_not_begun_but_given_back() {
    let Ahead { gate, store, host, id, .. } = leased_ahead().await;
    // Nothing is renewed or leased, and nobody reclaims what is overdue; the buffer is not stale yet.
    for verb in [Verb::Renew, Verb::Reclaim, Verb::Lease] {
        store.trouble(verb, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    }
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    gate.permit(1);
    let record = async || store.show(id).await.unwrap().unwrap();
    while record().await.deliveries[0].state == DeliveryState::Processing {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let seen = gate.seen();
    assert!(!seen.began.contains_key(&51), "{seen:?}");
    let record = record().await;
    let given_back = (record.deliveries[0].state, record.deliveries[0].attempts);
    assert_eq!((given_back, record.attempts.len()), ((DeliveryState::Pending, 0), 0));
    store.heal();
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn an_overdue_lease_is_renewed_and_its_deliveries_are_settled_under_it() {
    let Ahead { gate, inbox, store, host, .. } = leased_ahead().await;
    for verb in Verb::ALL {
        store.trouble(verb, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    }
    tokio::time::sleep(Duration::from_mins(1)).await;
    store.heal();
    // Slow, as a store is that comes back: a renewal takes almost as long as it may.
    store.trouble(Verb::Renew, Trouble::Slow(Duration::from_millis(700)), u32::MAX);
    health_is(&inbox, Health::is_ready).await;
    gate.permit(1);
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 52);
    let seen = gate.seen();
    assert!(seen.began.values().all(|times| *times == 1), "{seen:?}");
    host.shutdown(Duration::ZERO).await;
}

/// A renewal is the sign that a host lives: one that has none to show takes nothing from itself.
#[tokio::test(start_paused = true)]
async fn a_host_that_cannot_renew_its_leases_does_not_reclaim_them() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    let id = schedule(inbox.scheduler(), 0..1, What::Wait).await[0];
    let host = inbox.start().unwrap();
    gate.began(1).await;
    store.trouble(Verb::Renew, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    tokio::time::sleep(Duration::from_mins(30)).await;
    store.heal();
    gate.permit(1);
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 1);
    assert_eq!(gate.seen().began.get(&0), Some(&1), "it ran once");
    assert!(store.show(id).await.unwrap().unwrap().attempts.is_empty(), "no worker vanished");
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_asked_to_stop_when_its_lease_is_over_though_the_store_is_away() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.lease_duration(Duration::from_secs(10)).build().await.unwrap();
    schedule(inbox.scheduler(), 0..1, What::WaitOrStop).await;
    let host = inbox.start().unwrap();
    gate.began(1).await;
    for verb in Verb::ALL {
        store.trouble(verb, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    }
    let begun = Instant::now();
    gate.ended(1).await;
    assert!(begun.elapsed() <= Duration::from_secs(12), "{:?}", begun.elapsed());
    store.heal();
    host.shutdown(Duration::ZERO).await;
}
