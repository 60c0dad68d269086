use std::time::Duration;

use inbox::Inbox;
use inbox::hosting::{HostError, HostPhase};
use inbox::store::DeliveryState;

use crate::kit::{self, Gate, What, all_are, builder, health_is, schedule};

#[tokio::test]
async fn a_started_host_handles_what_is_scheduled_before_and_after() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    schedule(inbox.scheduler(), 0..500, What::Pass).await;
    let host = inbox.start().unwrap();
    gate.ended(500).await;
    schedule(inbox.scheduler(), 500..1_000, What::Pass).await;
    let seen = gate.ended(1_000).await;
    assert!(seen.began.values().all(|times| *times == 1));
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 1_000);
    host.shutdown(Duration::from_secs(30)).await;
    assert_eq!(inbox.control().health().phase, HostPhase::Stopped);
}

#[tokio::test]
async fn run_until_works_until_its_signal_and_gives_the_last_handler_time() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn({
        let inbox = inbox.clone();
        async move { inbox.run_until(stopped).await }
    });
    gate.began(1).await;
    stop.send(()).unwrap();
    health_is(&inbox, |health| health.phase == HostPhase::Stopping).await;
    gate.permit(1);
    running.await.unwrap().unwrap();
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 1);
}

#[tokio::test]
async fn an_inbox_runs_once_at_a_time_and_again_after_it_has_stopped() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    let host = inbox.start().unwrap();
    let error = inbox.start().unwrap_err();
    assert!(matches!(error, inbox::Error::Host(HostError::AlreadyRunning)), "{error}");
    host.shutdown(Duration::ZERO).await;
    let host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    host.shutdown(Duration::from_secs(30)).await;
}

#[test]
fn without_a_runtime_a_host_says_what_it_needs() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let inbox = runtime.block_on(async { kit::in_memory(&Gate::default()).await });
    let error = inbox.start().unwrap_err().to_string();
    assert!(error.contains("needs a Tokio runtime"), "{error}");
}

#[tokio::test]
async fn a_process_without_background_processing_leaves_the_work_to_others() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let idle = builder(store.clone(), &gate).without_background_processing().build().await.unwrap();
    let host = idle.start().unwrap();
    schedule(idle.scheduler(), 0..3, What::Pass).await;
    health_is(&idle, inbox::hosting::Health::is_ready).await;
    assert_eq!(all_are(&store, DeliveryState::Pending).await, 3);
    // Its passes work all the same.
    assert_eq!(idle.process_pending().await.unwrap().completed, 3);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_process_that_only_schedules_needs_no_state_of_any_handler() {
    let store = inbox::sqlite::in_memory().await.unwrap();
    let scheduling = Inbox::builder(store.clone()).scheduler_only().build().await.unwrap();
    schedule(scheduling.scheduler(), 0..3, What::Pass).await;
    let gate = Gate::default();
    let working = builder(store, &gate).build().await.unwrap();
    let host = working.start().unwrap();
    gate.ended(3).await;
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn two_hosts_in_one_process_share_the_work_of_one_store() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let first = builder(store.clone(), &gate).concurrency(1).build().await.unwrap();
    let second = builder(store.clone(), &gate).concurrency(1).build().await.unwrap();
    let hosts = (first.start().unwrap(), second.start().unwrap());
    schedule(first.scheduler(), 0..2, What::Wait).await;
    // Each takes one, for neither can run two.
    gate.until(|seen| seen.running == 2).await;
    gate.permit(2);
    gate.ended(2).await;
    hosts.0.shutdown(Duration::from_secs(30)).await;
    hosts.1.shutdown(Duration::from_secs(30)).await;
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 2);
}

#[tokio::test]
async fn limits_that_leave_nothing_to_do_are_refused_when_the_inbox_is_built() {
    let store = inbox::sqlite::in_memory().await.unwrap();
    let nobody: [&str; 0] = [];
    let refused =
        builder(store.clone(), &Gate::default()).only_handlers(["wrok"]).only_tenants(nobody);
    let error = refused.build().await.unwrap_err().to_string();
    assert!(error.contains("`wrok`") && error.contains("write one of"), "{error}");
    assert!(error.contains("no tenants at all"), "{error}");
    let error = builder(store, &Gate::default()).concurrency(0).build().await.unwrap_err();
    assert!(error.to_string().contains("`concurrency` is 0"), "{error}");
}
