//! How outcomes are written.

use std::time::Duration;

use inbox::store::StoreErrorKind;
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use tokio::time::Instant;

use crate::kit::{Gate, What, builder, faulty, schedule};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_are_written_while_successes_keep_coming() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    let inbox = builder(store.clone(), &gate).build().await.unwrap();
    store.trouble(Verb::Settle, Trouble::Slow(Duration::from_millis(20)), u32::MAX);
    schedule(inbox.scheduler(), 100_000..103_000, What::Pass).await;
    let id = schedule(inbox.scheduler(), 0..20, What::Fail).await[0];
    let all = 23_000;
    for page in 0..20 {
        schedule(inbox.scheduler(), 20 + page * 1_000..20 + (page + 1) * 1_000, What::Pass).await;
    }
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.ended.contains_key(&0)).await;
    let begun = Instant::now();
    let at_first = gate.seen().ended.len();
    loop {
        let record = inbox.status(id).await.unwrap().unwrap();
        if !record.attempts.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let ended = gate.seen().ended.len();
    println!("failed at {at_first} of {all}; written after {:?} at {ended}", begun.elapsed());
    assert!(ended < 10_000);
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
