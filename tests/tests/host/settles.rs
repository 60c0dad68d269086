//! How outcomes are written.

use std::time::Duration;

use inbox::store::{DeliveryState, Inspect as _, StoreErrorKind};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use tokio::time::Instant;

use crate::kit::{Gate, PATIENCE, What, builder, faulty, health_is, schedule};

#[tokio::test(start_paused = true)]
async fn a_delivery_that_is_alone_is_leased_handled_and_settled_without_waiting_for_time() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    let host = inbox.start().unwrap();
    health_is(&inbox, inbox::hosting::Health::is_ready).await;
    // This clock does not move while a thread is busy: whoever waits for it waits for ever.
    let (release, held) = std::sync::mpsc::channel::<()>();
    let busy = tokio::task::spawn_blocking(move || held.recv());
    let (begun, frozen) = (std::time::Instant::now(), Instant::now());
    for number in 0..10 {
        let id = schedule(inbox.scheduler(), [number], What::Pass).await[0];
        while inbox.status(id).await.unwrap().unwrap().deliveries[0].state
            != DeliveryState::Completed
        {
            assert!(begun.elapsed() < PATIENCE, "{:?}", store.counts().await);
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(frozen.elapsed(), Duration::ZERO);
    drop(release);
    busy.await.unwrap().unwrap_err();
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_are_written_while_successes_keep_coming() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    let inbox = builder(store.clone(), &gate).build().await.unwrap();
    store.trouble(Verb::Settle, Trouble::Slow(Duration::from_millis(20)), u32::MAX);
    schedule(inbox.scheduler(), 100_000..103_000, What::Pass).await;
    let id = schedule(inbox.scheduler(), 0..20, What::Fail).await[0];
    for page in 0..20 {
        schedule(inbox.scheduler(), 20 + page * 1_000..20 + (page + 1) * 1_000, What::Wait).await;
    }
    // There is always more that may succeed, and never so much that all of it is over when a busy
    // machine gets to look.
    gate.permit(2_000);
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.ended.contains_key(&0)).await;
    let mut permitted = 2_000;
    while inbox.status(id).await.unwrap().unwrap().attempts.is_empty() {
        gate.permit(500);
        permitted += 500;
        gate.until(|seen| seen.ended.len() >= 3_000 + permitted - 2_000).await;
        assert!(permitted < 10_000, "written by nobody in all that time");
    }
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_settled_is_bounded() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    let inbox = builder(store.clone(), &gate).build().await.unwrap();
    store.trouble(Verb::Settle, Trouble::Fails(StoreErrorKind::Full), u32::MAX);
    for page in 0..20 {
        schedule(inbox.scheduler(), page * 1_000..(page + 1) * 1_000, What::Pass).await;
    }
    let host = inbox.start().unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let health = inbox.control().health();
    assert!(health.load.unsettled < 5_000, "{health}");
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_refused_comes_back_with_its_leases() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    store.trouble(Verb::Settle, Trouble::Fails(StoreErrorKind::Other), u32::MAX);
    schedule(inbox.scheduler(), 0..60, What::Pass).await;
    let host = inbox.start().unwrap();
    let begun = Instant::now();
    gate.until(|seen| seen.began.len() == 60).await;
    while gate.seen().began.get(&0) != Some(&2) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(begun.elapsed() < Duration::from_mins(3), "{:?}", begun.elapsed());
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_settlement_without_an_answer_is_over_where_nobody_may_look_it_up() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    // Done, and nobody hears of it; and this role sees no delivery.
    store.trouble(Verb::Settle, Trouble::AnswersNothing, 1);
    store.trouble(Verb::Show, Trouble::Fails(StoreErrorKind::ReadOnly), u32::MAX);
    // Under one lease, which is renewed for as long as the other one runs.
    schedule(inbox.scheduler(), [0], What::Wait).await;
    schedule(inbox.scheduler(), [1], What::Pass).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.ended.contains_key(&1)).await;
    health_is(&inbox, |health| health.load.unsettled == 0).await;
    gate.permit(1);
    gate.until(|seen| seen.ended.contains_key(&0)).await;
    health_is(&inbox, |health| health.load.unsettled == 0).await;
    let counts = store.counts().await.unwrap();
    assert!(counts.iter().all(|count| count.state == DeliveryState::Completed), "{counts:?}");
    assert_eq!(gate.seen().began.get(&1), Some(&1), "it ran once");
    host.shutdown(Duration::ZERO).await;
}
