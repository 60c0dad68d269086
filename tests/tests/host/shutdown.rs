use std::time::Duration;

use inbox::hosting::{HostPhase, ShutdownReport};
use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _};

use tokio::time::Instant;

use crate::kit::{
    self, Gate, PATIENCE, What, all_are, faulty, faulty_builder, health_is, schedule,
};

/// No shutdown takes longer than the time it is given and this.
const LONGEST: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn what_no_handler_has_begun_is_given_back_at_once_and_not_counted() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.concurrency(2).build().await.unwrap();
    // Handlers that were fast until now have more leased ahead.
    schedule(inbox.scheduler(), 0..200, What::Pass).await;
    let host = inbox.start().unwrap();
    gate.ended(200).await;
    schedule(inbox.scheduler(), 200..300, What::Wait).await;
    gate.until(|seen| seen.running == 2).await;
    // What ended before is written, so that the report is of these two.
    health_is(&inbox, |health| health.load.unsettled == 0).await;
    let stopping = tokio::spawn(async move { host.shutdown(Duration::from_mins(10)).await });
    // While two handlers go on, all others are free for other hosts.
    health_is(&inbox, |health| health.phase == HostPhase::Stopping && health.load.held() == 2)
        .await;
    let pending = DeliveryFilter::in_state(DeliveryState::Pending);
    let pending = store.list(DeliveryFilter { limit: Some(1_000), ..pending }).await.unwrap();
    assert_eq!(pending.deliveries.len(), 98);
    assert!(pending.deliveries.iter().all(|delivery| delivery.attempts == 0));
    gate.permit(2);
    let report = stopping.await.unwrap();
    assert_eq!((report.settled, report.left), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_handlers_are_cut_off_and_their_attempt_is_given_back() {
    let gate = Gate::default();
    let (inbox, _) = faulty(&gate).await;
    schedule(inbox.scheduler(), 0..3, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.running == 3).await;
    let report = host.shutdown(Duration::from_millis(50)).await;
    assert_eq!((report.released, report.left), (3, 0));
    assert_eq!(gate.seen().running, 0, "a handler goes on after the host has ended");
    let page = inbox.list(DeliveryFilter::default()).await.unwrap();
    for delivery in page.deliveries {
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Pending, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn before_the_deadline_handlers_are_asked_to_stop_and_one_that_does_has_not_failed() {
    let gate = Gate::default();
    let (inbox, _) = faulty(&gate).await;
    let id = schedule(inbox.scheduler(), 0..1, What::WaitOrStop).await[0];
    let host = inbox.start().unwrap();
    gate.began(1).await;
    let report = host.shutdown(Duration::from_secs(2)).await;
    assert_eq!((report.released, report.settled, report.left), (1, 0, 0));
    let record = inbox.status(id).await.unwrap().unwrap();
    assert_eq!(record.deliveries[0].attempts, 0);
    assert!(record.attempts.is_empty(), "{record:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_its_thread_does_not_hold_the_shutdown_and_keeps_its_delivery() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    schedule(inbox.scheduler(), 0..1, What::Block).await;
    schedule(inbox.scheduler(), 1..2, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.running == 2).await;
    let report = tokio::time::timeout(PATIENCE, host.shutdown(Duration::ZERO)).await;
    let processing = DeliveryFilter::in_state(DeliveryState::Processing);
    let processing = inbox.list(processing).await.unwrap();
    // Before anything fails, for a test that ends waits for its threads.
    gate.unblock();
    let report = report.unwrap();
    assert_eq!((report.released, report.left), (1, 1));
    // Nobody begins it while it may still be going on.
    assert_eq!(processing.deliveries.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_block_every_thread_do_not_hold_the_shutdown_and_keep_their_deliveries() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    schedule(inbox.scheduler(), 0..2, What::Block).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.running == 2).await;
    // Should it wait for them, they go on in the end.
    let (over, is_over) = std::sync::mpsc::channel();
    let releasing = std::thread::spawn({
        let gate = gate.clone();
        move || {
            let is_late = is_over.recv_timeout(PATIENCE).is_err();
            gate.unblock();
            is_late
        }
    });
    let report = host.shutdown(Duration::ZERO).await;
    let counts = inbox.store().counts().await.unwrap();
    let _ = over.send(());
    assert!(!releasing.join().unwrap(), "it waited for them: {report:?}");
    assert_eq!((report.released, report.left), (0, 2));
    assert!(counts.iter().all(|of| of.state == DeliveryState::Processing), "{counts:?}");
    // With its threads, the host ends too, and another one can begin.
    health_is(&inbox, |health| health.phase == HostPhase::Stopped).await;
}

#[tokio::test(start_paused = true)]
async fn a_second_call_with_less_time_ends_a_shutdown_earlier() {
    let gate = Gate::default();
    let (inbox, _) = faulty(&gate).await;
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let host = std::sync::Arc::new(inbox.start().unwrap());
    gate.began(1).await;
    let patient = tokio::spawn({
        let host = std::sync::Arc::clone(&host);
        async move { host.shutdown(Duration::from_hours(1)).await }
    });
    health_is(&inbox, |health| health.phase == HostPhase::Stopping).await;
    let begun = Instant::now();
    host.force();
    let report = patient.await.unwrap();
    assert!(begun.elapsed() <= LONGEST, "{:?}", begun.elapsed());
    assert_eq!((report.released, report.left), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_handle_stops_the_host_and_gives_back_what_it_held() {
    let gate = Gate::default();
    let (inbox, _) = faulty(&gate).await;
    schedule(inbox.scheduler(), 0..3, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.running == 3).await;
    drop(host);
    health_is(&inbox, |health| health.phase == HostPhase::Stopped).await;
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Pending).await, 3);
    assert_eq!(gate.seen().running, 0);
}

#[tokio::test(start_paused = true)]
async fn a_full_backlog_does_not_hold_the_shutdown() {
    let gate = Gate::default();
    let (inbox, _) = faulty(&gate).await;
    schedule(inbox.scheduler(), 0..20_000, What::Pass).await;
    let host = inbox.start().unwrap();
    gate.ended(100).await;
    let begun = Instant::now();
    let ShutdownReport { left, .. } = host.shutdown(Duration::from_secs(5)).await;
    assert!(begun.elapsed() <= LONGEST + Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(left, 0);
    // Nothing is in between: what was not handled is ready for the next.
    let counts = inbox.store().counts().await.unwrap();
    let is_over = |state| [DeliveryState::Pending, DeliveryState::Completed].contains(&state);
    assert!(counts.iter().all(|count| is_over(count.state)), "{counts:?}");
    assert_eq!(counts.iter().map(|count| count.count).sum::<u64>(), 20_000);
    assert!(counts.iter().any(|count| count.state == DeliveryState::Pending), "all was handled");
}
