use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inbox::hosting::{ChoreName, Event, Health, HostLoop, HostPhase, Observer};
use inbox::store::DeliveryState;
use tokio::sync::{mpsc, oneshot};

use crate::kit::{self, Gate, PATIENCE, What, all_are, builder, health_is, schedule};

#[tokio::test]
async fn a_paused_host_finishes_what_it_holds_and_goes_on_when_resumed() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    let host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    gate.began(1).await;
    let draining = tokio::spawn({
        let control = inbox.control();
        async move { control.drain().await }
    });
    health_is(&inbox, |health| health.paused).await;
    schedule(inbox.scheduler(), 1..10, What::Pass).await;
    assert!(!draining.is_finished());
    gate.permit(1);
    assert!(draining.await.unwrap(), "it did not come to rest");
    // What came after is untouched, and the host is as well as before.
    assert_eq!(gate.seen().began.len(), 1);
    health_is(&inbox, Health::is_live).await;
    inbox.control().resume();
    gate.ended(10).await;
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 10);
    host.shutdown(Duration::ZERO).await;
    // There is nothing to wait for any more.
    assert!(inbox.control().drain().await);
}

#[tokio::test]
async fn a_drain_that_someone_resumes_says_so() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    let _host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    gate.began(1).await;
    let draining = tokio::spawn({
        let control = inbox.control();
        async move { control.drain().await }
    });
    health_is(&inbox, |health| health.paused).await;
    inbox.control().resume();
    assert!(!draining.await.unwrap());
    gate.permit(1);
}

#[tokio::test]
async fn a_host_says_how_it_is_from_its_start_to_its_end() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    let health = inbox.control().health();
    assert_eq!((health.phase, health.is_ready()), (HostPhase::New, false));
    let host = inbox.start().unwrap();
    let health = health_is(&inbox, |health| {
        health.is_ready() && health.is_live() && health.problems().next().is_none()
    })
    .await;
    let loops: Vec<_> = health.loops.iter().map(|one| one.name).collect();
    let all = [HostLoop::Probe, HostLoop::Pump, HostLoop::Settler, HostLoop::Renewer];
    let chores = [
        ChoreName::PROMOTE,
        ChoreName::HEARTBEAT,
        ChoreName::RECLAIM,
        ChoreName::ROUTE,
        ChoreName::REPAIR,
        ChoreName::ORPHANS,
    ];
    let all: Vec<_> = all.into_iter().chain(chores.map(HostLoop::Chore)).collect();
    assert!(all.iter().all(|name| loops.contains(name)), "{loops:?}");
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let health = health_is(&inbox, |health| health.load.running == 1 && health.is_ready()).await;
    assert!(health.to_string().contains("live, ready; 1 running"), "{health}");
    gate.permit(1);
    host.shutdown(Duration::from_secs(30)).await;
    let health = inbox.control().health();
    assert_eq!((health.phase, health.is_ready()), (HostPhase::Stopped, false));
}

/// Passes everything on to a test, and may misbehave.
struct Reporter {
    events: mpsc::UnboundedSender<Event>,
    panics: Arc<AtomicBool>,
}

impl Observer for Reporter {
    fn notice(&self, event: &Event) {
        self.events.send(event.clone()).unwrap();
        assert!(!self.panics.load(Ordering::SeqCst), "as the test wants it");
    }
}

async fn next(events: &mut mpsc::UnboundedReceiver<Event>) -> Event {
    tokio::time::timeout(PATIENCE, events.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn an_observer_is_told_of_the_host_and_of_every_delivery_in_order() {
    let gate = Gate::default();
    let (sender, mut events) = mpsc::unbounded_channel();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let reporter = Reporter { events: sender, panics: Arc::default() };
    let inbox = builder(store, &gate).observer(reporter).build().await.unwrap();
    let id = schedule(inbox.scheduler(), 0..1, What::Pass).await[0];
    let host = inbox.start().unwrap();
    assert!(matches!(next(&mut events).await, Event::Starting));
    assert!(matches!(next(&mut events).await, Event::Started));
    match next(&mut events).await {
        Event::Dispatched(delivery) => {
            assert_eq!(
                (delivery.message_id, &*delivery.handler_key, delivery.attempt),
                (id, "work", 1)
            );
        }
        other => panic!("{other:?}"),
    }
    match next(&mut events).await {
        Event::Settled { delivery, state } => {
            assert_eq!((delivery.message_id, state), (id, DeliveryState::Completed));
        }
        other => panic!("{other:?}"),
    }
    host.shutdown(Duration::from_secs(30)).await;
    assert!(matches!(next(&mut events).await, Event::Stopping));
    assert!(matches!(next(&mut events).await, Event::Stopped));
}

#[tokio::test]
async fn an_observer_that_panics_or_hangs_changes_nothing_for_the_host() {
    let gate = Gate::default();
    let (sender, mut events) = mpsc::unbounded_channel();
    let reporter = Reporter { events: sender, panics: Arc::new(AtomicBool::new(true)) };
    let (release, held) = oneshot::channel::<()>();
    let hanging = Hanging(std::sync::Mutex::new(Some(held)));
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).observer(reporter).observer(hanging).build().await.unwrap();
    let host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..100, What::Pass).await;
    gate.ended(100).await;
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 100);
    // It has been told something, panicked, and its neighbour hangs.
    assert!(matches!(next(&mut events).await, Event::Starting));
    host.shutdown(Duration::from_secs(30)).await;
    drop(release);
}

/// Does not return from its first event.
struct Hanging(std::sync::Mutex<Option<oneshot::Receiver<()>>>);

impl Observer for Hanging {
    fn notice(&self, _: &Event) {
        if let Some(held) = self.0.lock().unwrap().take() {
            let _ = held.blocking_recv();
        }
    }
}

#[tokio::test]
async fn a_drain_of_a_host_that_leases_nothing_ends() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).without_background_processing().build().await.unwrap();
    let _host = inbox.start().unwrap();
    let drain = tokio::time::timeout(PATIENCE, async { inbox.control().drain().await });
    assert!(drain.await.unwrap());
}

#[tokio::test]
async fn a_drain_during_a_shutdown_waits_for_handlers() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.began(1).await;
    let stopping = tokio::spawn(async move { host.shutdown(PATIENCE).await });
    health_is(&inbox, |health| health.phase == HostPhase::Stopping).await;
    let drained =
        tokio::time::timeout(Duration::from_secs(1), async { inbox.control().drain().await }).await;
    let running = gate.seen().running;
    gate.permit(1);
    stopping.await.unwrap();
    assert!(drained != Ok(true) || running == 0, "drained, and {running} running");
}

struct Panicking(mpsc::UnboundedSender<Event>);

impl Observer for Panicking {
    fn notice(&self, event: &Event) {
        let _ = self.0.send(event.clone());
        panic!("as the test wants it");
    }
}

#[tokio::test]
async fn an_observer_that_panics_is_told_what_follows() {
    let gate = Gate::default();
    let (sender, mut events) = mpsc::unbounded_channel();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).observer(Panicking(sender)).build().await.unwrap();
    inbox.start().unwrap().shutdown(Duration::ZERO).await;
    // The host does not wait for its observers for long, so they may hear of the end after it.
    for expected in ["Starting", "Started", "Stopping", "Stopped"] {
        assert_eq!(format!("{:?}", next(&mut events).await), expected);
    }
}
