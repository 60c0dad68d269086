//! A host says how it is, and is right.

use std::time::Duration;

use inbox::Inbox;
use inbox::hosting::Health;
use inbox::store::StoreErrorKind;
use inbox_tests::faulty::{Trouble, Verb};

use crate::kit::{self, Gate, What, faulty, faulty_builder, health_is, schedule};

#[tokio::test]
async fn a_host_that_starts_paused_is_live() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    inbox.control().pause();
    let _host = inbox.start().unwrap();
    health_is(&inbox, Health::is_live).await;
}

#[tokio::test]
async fn a_host_without_handlers_is_live() {
    let store = inbox::sqlite::in_memory().await.unwrap();
    let catalog = inbox::registry::Catalog::linked().without_handlers();
    let inbox = Inbox::builder(store)
        .catalog(catalog)
        .contracts_without_handler(inbox::registry::ContractsWithoutHandler::Allow)
        .build()
        .await
        .unwrap();
    let _host = inbox.start().unwrap();
    health_is(&inbox, Health::is_live).await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_lets_handlers_finish_is_live() {
    let gate = Gate::default();
    let (inbox, _store) = faulty(&gate).await;
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.began(1).await;
    let stopping = tokio::spawn(async move { host.shutdown(Duration::from_mins(10)).await });
    tokio::time::sleep(Duration::from_mins(1)).await;
    let health = inbox.control().health();
    gate.permit(1);
    stopping.await.unwrap();
    assert!(health.is_live(), "{health}");
}

#[tokio::test(start_paused = true)]
async fn a_short_stall_after_does_not_flap() {
    let gate = Gate::default();
    let (inbox, _) = faulty_builder(&gate).await;
    let inbox = inbox.stall_after(Duration::from_millis(100)).build().await.unwrap();
    let _host = inbox.start().unwrap();
    health_is(&inbox, Health::is_ready).await;
    // Longer than any chore rests.
    for _ in 0..2_500 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let health = inbox.control().health();
        assert!(health.is_ready(), "{health}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_settler_that_cannot_write_is_red_all_the_time() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    let host = inbox.start().unwrap();
    health_is(&inbox, Health::is_ready).await;
    store.trouble(Verb::Settle, Trouble::Fails(StoreErrorKind::Full), u32::MAX);
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for _ in 0..1_000 {
        tokio::time::sleep(Duration::from_millis(7)).await;
        let health = inbox.control().health();
        assert!(!health.is_live(), "{health}");
    }
    store.heal();
    host.shutdown(Duration::ZERO).await;
}
