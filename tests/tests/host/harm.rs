//! What one handler does harms no other delivery.

use std::time::Duration;

use inbox::hosting::{Event, Observer};
use inbox::sqlite::SqliteStore;
use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _, Maintain as _, Now};
use inbox::{Context, Inbox, MessageId, ScheduleOptions, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::kit::{
    self, Gate, PATIENCE, Task, What, all_are, builder, faulty_builder, health_is, schedule,
};

/// So short that a test need not wait for long until it is renewed, and so long that a busy machine
/// renews it in time.
const LEASE: Duration = Duration::from_secs(15);

/// Tells of the leases that a host loses, and of its end.
struct Losses(UnboundedSender<Event>);

impl Observer for Losses {
    fn notice(&self, event: &Event) {
        if matches!(event, Event::LeaseLost(_) | Event::Reclaimed(_) | Event::Stopped) {
            // The test may be over.
            let _ = self.0.send(event.clone());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_longer_than_a_lease_runs_once_and_so_does_what_waits_behind_it() {
    let gate = Gate::default();
    let (inbox, _) = faulty_builder(&gate).await;
    let (tell, mut lost) = unbounded_channel();
    let lease = Duration::from_secs(1);
    let inbox = inbox.concurrency(1).lease_duration(lease);
    let inbox = inbox.observer(Losses(tell)).build().await.unwrap();
    // Fast at first, so that the host leases ahead.
    schedule(inbox.scheduler(), 0..50, What::Pass).await;
    let host = inbox.start().unwrap();
    gate.ended(50).await;
    schedule(inbox.scheduler(), 50..51, What::Wait).await;
    gate.began(51).await;
    // Under leases of which nothing is begun.
    schedule(inbox.scheduler(), 51..60, What::Wait).await;
    health_is(&inbox, |health| health.load.buffered > 0).await;
    // By the clock that stands still. What waits is given back after five seconds.
    tokio::time::sleep(lease * 4).await;
    gate.permit(10);
    let seen = gate.ended(60).await;
    assert!(seen.began.values().all(|times| *times == 1), "{seen:?}");
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 60);
    host.shutdown(Duration::ZERO).await;
    let event = lost.recv().await.unwrap();
    assert!(matches!(event, Event::Stopped), "leases were not kept: {event:?}");
}

/// Waits until the leases of all these were renewed, and then again. Answers how many of them others
/// would have taken when the earlier leases were over.
async fn reclaims_while_renewed(
    store: &SqliteStore,
    ids: &[MessageId],
) -> Result<u64, tokio::time::error::Elapsed> {
    let expiries = async || {
        let mut expiries = Vec::new();
        for id in ids {
            let record = store.show(*id).await.unwrap().unwrap();
            expiries.extend(record.deliveries[0].lease_expires_at);
        }
        expiries
    };
    let mut moved = 0;
    for _ in 0..2 {
        let before = expiries().await.into_iter().max().unwrap();
        let renewed = async {
            while expiries().await.iter().any(|expiry| *expiry <= before) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, renewed).await?;
        moved += store.reclaim(100, Now::At(before)).await.unwrap().moved();
    }
    Ok(moved)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_are_renewed_while_every_thread_of_the_runtime_is_blocked() {
    let gate = Gate::default();
    let directory = tempfile::tempdir().unwrap();
    let store = inbox::sqlite::open(directory.path().join("inbox.db")).await.unwrap();
    // Two handlers hold both threads, and with them everything that this runtime should do.
    let inbox = builder(store.clone(), &gate).lease_duration(LEASE).build().await.unwrap();
    let ids = schedule(inbox.scheduler(), 0..2, What::Block).await;
    let looking = std::thread::spawn({
        let (gate, store) = (gate.clone(), store.clone());
        move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                gate.until(|seen| seen.running == 2).await;
                let moved = reclaims_while_renewed(&store, &ids).await;
                // Before anything fails, for handlers that block hold the test too.
                gate.unblock();
                moved
            })
        }
    });
    let host = inbox.start().unwrap();
    let seen = gate.ended(2).await;
    assert_eq!(looking.join().unwrap(), Ok(0));
    assert!(seen.began.values().all(|times| *times == 1), "{seen:?}");
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 2);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn panics_failures_and_leaked_tasks_concern_one_delivery_each() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).concurrency(4).max_attempts(2).build().await.unwrap();
    let host = inbox.start().unwrap();
    for (at, what) in [What::Panic, What::Fail, What::Leak, What::Pass].into_iter().enumerate() {
        let at = at as u64;
        schedule(inbox.scheduler(), at * 100..(at + 1) * 100, what).await;
    }
    gate.until(|seen| seen.ended.len() == 400 && seen.ended.values().sum::<u32>() == 600).await;
    health_is(&inbox, |health| health.load.held() == 0).await;
    let dead = DeliveryFilter::in_state(DeliveryState::Dead);
    let dead = inbox.list(DeliveryFilter { limit: Some(1_000), ..dead }).await.unwrap();
    assert_eq!(dead.deliveries.len(), 200);
    let counts = inbox.store().counts().await.unwrap();
    assert!(counts.iter().any(|of| of.state == DeliveryState::Completed && of.count == 200));
    // Every slot is free again; one of the four is kept for another handler.
    schedule(inbox.scheduler(), 1_000..1_004, What::Wait).await;
    gate.until(|seen| seen.running == 3).await;
    gate.permit(4);
    host.shutdown(Duration::from_secs(30)).await;
}

#[inbox_contract(name = "host.quick", version = 1)]
#[derive(Serialize, Deserialize)]
struct Quick {
    number: u64,
}

#[handler(key = "quick")]
async fn quick(command: Quick, State(gate): State<Gate>, context: Context) -> Result<(), String> {
    gate.run(&Task { number: command.number, what: What::Pass }, &context).await
}

async fn schedule_quick<S: inbox::store::Store>(inbox: &Inbox<S>, number: u64) {
    inbox.scheduler().schedule(Quick { number }, ScheduleOptions::new()).await.unwrap();
}

#[tokio::test]
async fn a_handler_that_stalls_takes_no_slot_from_the_others() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).concurrency(4).buffer(10).build().await.unwrap();
    let host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..1_000, What::Wait).await;
    gate.until(|seen| seen.running >= 2).await;
    schedule_quick(&inbox, 5_000).await;
    gate.until(|seen| seen.ended.contains_key(&5_000)).await;
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_waits_behind_a_handler_that_stalls_is_given_back_for_others() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let stalled = builder(store.clone(), &gate).concurrency(1).build().await.unwrap();
    schedule(stalled.scheduler(), 0..100, What::Pass).await;
    let host = stalled.start().unwrap();
    gate.ended(100).await;
    schedule(stalled.scheduler(), 100..101, What::Wait).await;
    schedule(stalled.scheduler(), 101..150, What::Pass).await;
    gate.began(101).await;
    // Another host, of this or another process, gets what the first one had leased ahead.
    let other = builder(store.clone(), &gate).build().await.unwrap();
    let second = other.start().unwrap();
    gate.ended(149).await;
    gate.permit(1);
    gate.ended(150).await;
    assert!(gate.seen().began.values().all(|times| *times == 1));
    host.shutdown(Duration::from_secs(30)).await;
    second.shutdown(Duration::from_secs(30)).await;
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 150);
}

#[tokio::test]
async fn a_handler_that_returns_after_its_lease_was_lost_settles_nothing() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    let id = schedule(inbox.scheduler(), 0..1, What::Wait).await[0];
    let host = inbox.start().unwrap();
    gate.began(1).await;
    // Its lease is over in an hour, which for another clock is now.
    let later = inbox::Timestamp::now() + Duration::from_hours(1);
    let moved = inbox.store().reclaim(10, Now::At(later)).await.unwrap();
    assert_eq!(moved.returned(), 1);
    gate.permit(1);
    // The first run is refused; the second one counts.
    gate.until(|seen| seen.began.get(&0) == Some(&2)).await;
    gate.permit(1);
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 1);
    assert_eq!(inbox.status(id).await.unwrap().unwrap().deliveries[0].attempts, 1);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_delivery_whose_message_is_gone_is_dead_and_the_others_are_handled() {
    let gate = Gate::default();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    let store = inbox::sqlite::open(&path).await.unwrap();
    let inbox = builder(store, &gate).build().await.unwrap();
    let ids = schedule(inbox.scheduler(), 0..3, What::Pass).await;
    let file = inbox::sqlite::rusqlite::Connection::open(&path).unwrap();
    let gone = ids[1].as_u128().to_be_bytes();
    file.execute("DELETE FROM inbox_message WHERE id = ?1", [&gone[..]]).unwrap();
    let host = inbox.start().unwrap();
    gate.ended(2).await;
    health_is(&inbox, |health| health.load.held() == 0).await;
    let dead = inbox.list(DeliveryFilter::in_state(DeliveryState::Dead)).await.unwrap();
    assert_eq!(dead.deliveries.len(), 1);
    assert_eq!(dead.deliveries[0].message_id, ids[1]);
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn rows_that_someone_deletes_while_handlers_are_at_them_harm_no_other() {
    let database = inbox::testing::postgres::PostgresDatabase::create().await.unwrap();
    let options = inbox::postgres::PostgresOptions::new().ensure_schema().connections(4);
    let store = options.open(&database.url()).await.unwrap();
    let gate = Gate::default();
    let inbox = builder(store, &gate).lease_duration(LEASE).build().await.unwrap();
    let host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..2, What::Wait).await;
    schedule(inbox.scheduler(), 2..4, What::WaitOrStop).await;
    gate.began(4).await;
    let admin = database.connect().await.unwrap();
    let delete = "DELETE FROM inbox.held; DELETE FROM inbox.lease; DELETE FROM inbox.message";
    admin.batch_execute(delete).await.unwrap();
    schedule(inbox.scheduler(), 4..8, What::Wait).await;
    gate.began(8).await;
    // The renewer notices, and asks them to stop; those who do not are done for nobody.
    gate.until(|seen| seen.ended.len() == 2).await;
    gate.permit(6);
    gate.ended(8).await;
    health_is(&inbox, |health| health.load.held() == 0 && health.problems().next().is_none()).await;
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 4);
    assert!(gate.seen().began.values().all(|times| *times == 1), "{:?}", gate.seen());
    host.shutdown(Duration::from_secs(30)).await;
}
