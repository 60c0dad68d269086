//! Hosts that end, one after the other.

use std::sync::Arc;
use std::time::Duration;

use inbox::hosting::{Event, HostPhase, Observer};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use tokio::time::Instant;

use crate::kit::{self, Gate, PATIENCE, What, builder, faulty, schedule};

#[tokio::test]
async fn an_old_handle_does_not_stop_a_new_host() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    let mut host = inbox.start().unwrap();
    host.shutdown(Duration::ZERO).await;
    host = inbox.start().unwrap();
    // It would be over by now.
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    assert_eq!(inbox.control().health().phase, HostPhase::Running);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_is_bounded_while_a_loop_waits_to_be_started_again() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    store.trouble(Verb::Lease, Trouble::Panics, u32::MAX);
    let host = inbox.start().unwrap();
    while store.met() < 8 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let begun = Instant::now();
    host.shutdown(Duration::from_secs(1)).await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

struct Names(std::sync::mpsc::Sender<Event>);

impl Observer for Names {
    fn notice(&self, event: &Event) {
        let _ = self.0.send(event.clone());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_hear_of_every_stop() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).observer(Names(sender)).build().await.unwrap();
    let mut missing = 0;
    for _ in 0..300 {
        let host = inbox.start().unwrap();
        tokio::time::sleep(Duration::from_millis(3)).await;
        host.shutdown(Duration::ZERO).await;
        // The last event may come after the host has ended, which does not wait for observers for long.
        let events = std::iter::from_fn(|| receiver.recv_timeout(PATIENCE).ok());
        let mut events = events.take_while(|event| !matches!(event, Event::Stopped));
        if !events.any(|event| matches!(event, Event::Stopping)) {
            missing += 1;
        }
        events.for_each(drop);
    }
    assert_eq!(missing, 0);
}

#[test]
fn a_runtime_that_is_dropped_ends_its_host() {
    let gate = Gate::default();
    let first =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (inbox, old) = first.block_on(async {
        let inbox = kit::in_memory(&gate).await;
        schedule(inbox.scheduler(), 0..3, What::Wait).await;
        let host = inbox.start().unwrap();
        gate.began(3).await;
        (inbox, host)
    });
    drop(first);
    let second = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    second.block_on(async {
        old.stopped().await;
        let _host = inbox.start().unwrap();
        schedule(inbox.scheduler(), 3..4, What::Pass).await;
        gate.until(|seen| seen.ended.contains_key(&3)).await;
    });
}

struct Restarts(Arc<std::sync::atomic::AtomicUsize>);

impl Observer for Restarts {
    fn notice(&self, event: &Event) {
        if matches!(event, Event::Restarting(_)) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_that_panics_does_not_spin_while_the_host_stops() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    let count = Arc::default();
    let inbox =
        builder(store.clone(), &gate).observer(Restarts(Arc::clone(&count))).build().await.unwrap();
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.began(1).await;
    store.trouble(Verb::Check, Trouble::Panics, u32::MAX);
    store.trouble(Verb::Promote, Trouble::Panics, u32::MAX);
    host.shutdown(Duration::from_secs(3)).await;
    let restarts = count.load(std::sync::atomic::Ordering::SeqCst);
    assert!(restarts < 20, "{restarts} restarts, {} panics", store.met());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_is_bounded_by_a_store_that_panics_at_settling() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    let inbox = builder(store.clone(), &gate).build().await.unwrap();
    let host = inbox.start().unwrap();
    store.trouble(Verb::Settle, Trouble::Panics, u32::MAX);
    let stopping = tokio::time::timeout(PATIENCE, host.shutdown(Duration::from_secs(1)));
    let ended = stopping.await.is_ok();
    let met = store.met();
    store.heal();
    assert!(ended, "{met} panics");
}

#[tokio::test(start_paused = true)]
async fn a_second_call_with_more_time_does_not_make_a_shutdown_longer() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    let inbox = builder(store.clone(), &gate).renew_in_place().build().await.unwrap();
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.began(1).await;
    let begun = Instant::now();
    tokio::join!(host.shutdown(Duration::from_secs(2)), host.shutdown(Duration::from_mins(2)));
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
}
