//! Deliveries with which workers vanished: at full width after the first, apart from others after the second.

use std::time::Duration;

use inbox::hosting::HostHandle;
use inbox::store::{
    DeliveryState, LeaseRequest, LeaseStore as _, Maintain as _, Now, Store, StoreErrorKind, Terms,
    Wanted,
};
use inbox::{Context, Inbox, ScheduleOptions, State, Timestamp, handler, inbox_contract};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use serde::{Deserialize, Serialize};

use crate::kit::{Gate, Task, What, all_are, builder, faulty, faulty_builder, health_is, schedule};

const SECOND: Duration = Duration::from_secs(1);

/// All that is ready under a key and not quarantined, for a worker that will vanish with it.
fn everything(key: &str) -> LeaseRequest {
    let wanted = Wanted {
        handler_key: key.to_owned(),
        versions: vec![1],
        limit: 1_000.try_into().unwrap(),
        max_crashes: 5.try_into().unwrap(),
        terms: Terms::default(),
    };
    let (host, wanted, tenants) = ("gone".to_owned(), vec![wanted], None);
    LeaseRequest { host, duration: SECOND, wanted, tenants, quarantine: None, first: None }
}

fn now<S: Store>(inbox: &Inbox<S>) -> Timestamp {
    inbox.scheduler().clock().now().or_else(Timestamp::now)
}

/// So many workers vanish in a row, each with these many deliveries of a key, which are ready again.
async fn vanish<S: Store>(inbox: &Inbox<S>, key: &str, deliveries: u64, workers: u32) {
    let (store, now) = (inbox.store(), now(inbox));
    for _ in 0..workers {
        store.lease(everything(key), Now::At(now)).await.unwrap();
        let reclaimed = store.reclaim(1_000, Now::At(now + SECOND)).await.unwrap();
        assert_eq!(reclaimed.returned(), deliveries);
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_worker_vanished_with_runs_again_at_once_and_at_full_width() {
    let gate = Gate::default();
    let inbox = faulty_builder(&gate).await.0.concurrency(100).build().await.unwrap();
    let ids = schedule(inbox.scheduler(), 0..40, What::Wait).await;
    vanish(&inbox, "work", 40, 1).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.running == 40).await;
    gate.permit(40);
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 40);
    for id in ids {
        let status = inbox.status(id).await.unwrap().unwrap();
        assert_eq!(status.deliveries[0].attempts, 1, "it was charged nothing");
        assert_eq!(status.attempts.len(), 1);
        assert_eq!(status.attempts[0].host.as_deref(), Some("gone"), "who vanished is known");
    }
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_quarantined_delivery_whose_lease_is_lost_while_it_runs_is_run_again() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.max_crashes(5).build().await.unwrap();
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    vanish(&inbox, "work", 1, 2).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.began.get(&0) == Some(&1)).await;
    // For another clock, its lease is over.
    let later = Now::At(now(&inbox) + Duration::from_hours(1));
    assert_eq!(store.reclaim(10, later).await.unwrap().returned(), 1);
    gate.permit(1);
    gate.until(|seen| seen.began.get(&0) == Some(&2)).await;
    gate.permit(1);
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 1);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_quarantined_delivery_whose_lease_is_lost_before_it_runs_keeps_no_other_back() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.concurrency(1).only_handlers(["work"]).lease_duration(3 * SECOND);
    let inbox = inbox.max_crashes(5).build().await.unwrap();
    let host = inbox.start().unwrap();
    // Fast at first, so that the host leases ahead.
    schedule(inbox.scheduler(), 0..50, What::Pass).await;
    gate.ended(50).await;
    schedule(inbox.scheduler(), 50..51, What::Wait).await;
    gate.began(51).await;
    inbox.control().pause();
    schedule(inbox.scheduler(), 51..53, What::Pass).await;
    vanish(&inbox, "work", 2, 2).await;
    inbox.control().resume();
    health_is(&inbox, |health| health.load.buffered == 1).await;
    let later = Now::At(now(&inbox) + Duration::from_hours(1));
    store.reclaim(10, later).await.unwrap();
    // A renewal lies between, and the buffer is not stale yet.
    tokio::time::sleep(3 * SECOND / 2).await;
    gate.permit(10);
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 53);
    host.shutdown(Duration::ZERO).await;
}

#[inbox_contract(name = "host.single", version = 1)]
#[derive(Serialize, Deserialize)]
struct Single {
    number: u64,
    what: What,
}

#[handler(key = "single", concurrency = 1)]
async fn single(command: Single, State(gate): State<Gate>, context: Context) -> Result<(), String> {
    gate.run(&Task { number: command.number, what: command.what }, &context).await
}

/// A host whose one call of `single` is at work, beside `Single` 200 and task 300, with each of which one
/// worker has vanished, and which another one holds.
struct Vanished {
    gate: Gate,
    inbox: Inbox<FaultyStore>,
    store: FaultyStore,
    host: HostHandle,
}

impl Vanished {
    async fn new() -> Self {
        let gate = Gate::default();
        let (inbox, store) = faulty_builder(&gate).await;
        // No lease of its own is over when others are.
        let inbox = inbox.lease_duration(Duration::from_hours(1)).build().await.unwrap();
        let single = async |number, what| {
            let options = ScheduleOptions::new();
            inbox.scheduler().schedule(Single { number, what }, options).await.unwrap();
        };
        single(200, What::Pass).await;
        schedule(inbox.scheduler(), 300..301, What::Pass).await;
        for (key, minutes) in [("single", 1), ("work", 3)] {
            vanish(&inbox, key, 1, 1).await;
            let request =
                LeaseRequest { duration: Duration::from_mins(minutes), ..everything(key) };
            assert_eq!(store.lease(request, Now::At(now(&inbox))).await.unwrap().len(), 1);
        }
        let host = inbox.start().unwrap();
        // Fast at first, so that the host leases ahead.
        for number in 0..20 {
            single(number, What::Pass).await;
        }
        gate.ended(20).await;
        single(100, What::Wait).await;
        gate.began(21).await;
        Self { gate, inbox, store, host }
    }

    /// The worker vanishes whose lease is over after so many minutes.
    async fn reclaim_after(&self, minutes: u64) {
        let later = Now::At(now(&self.inbox) + Duration::from_mins(minutes));
        assert_eq!(self.store.reclaim(10, later).await.unwrap().returned(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_quarantined_delivery_keeps_to_its_handlers_limit() {
    let vanished = Vanished::new().await;
    vanished.reclaim_after(2).await;
    let Vanished { gate, inbox, store: _store, host } = vanished;
    health_is(&inbox, |health| health.load.buffered == 1 || gate.seen().most > 1).await;
    // Long after it stopped to wait for others, and before it is given back.
    tokio::time::sleep(3 * SECOND).await;
    let seen = gate.seen();
    assert_eq!(seen.most, 1, "{seen:?}");
    assert!(!seen.began.contains_key(&200), "{seen:?}");
    gate.permit(1);
    gate.until(|seen| seen.ended.contains_key(&200)).await;
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_quarantined_delivery_that_waits_for_a_stalled_handler_keeps_no_other_back() {
    let vanished = Vanished::new().await;
    vanished.reclaim_after(2).await;
    health_is(&vanished.inbox, |health| health.load.buffered == 1).await;
    vanished.reclaim_after(4).await;
    let Vanished { gate, inbox, host, .. } = vanished;
    let other =
        tokio::time::timeout(15 * SECOND, gate.until(|seen| seen.ended.contains_key(&300))).await;
    let health = inbox.control().health();
    assert!(other.is_ok(), "{health}");
    assert!(!gate.seen().ended.contains_key(&100), "its handler does not stall");
    gate.permit(1);
    host.shutdown(SECOND).await;
}

#[tokio::test]
async fn many_quarantined_deliveries_follow_each_other_without_waiting_for_a_poll() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).poll_interval(Duration::from_hours(1));
    let inbox = inbox.build().await.unwrap();
    schedule(inbox.scheduler(), 0..100, What::Pass).await;
    vanish(&inbox, "work", 100, 2).await;
    let host = inbox.start().unwrap();
    gate.ended(100).await;
    host.shutdown(30 * SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_was_cut_off_for_long_goes_on_with_what_it_held() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    // Fast until now, and so with much leased ahead.
    schedule(inbox.scheduler(), 0..500, What::Pass).await;
    let host = inbox.start().unwrap();
    gate.ended(500).await;
    let ids = schedule(inbox.scheduler(), 500..700, What::WaitOrStop).await;
    health_is(&inbox, |health| health.load.buffered > 50).await;
    for verb in Verb::ALL {
        store.trouble(verb, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    }
    tokio::time::sleep(Duration::from_mins(5)).await;
    store.heal();
    // Quarantined ones would come one by one.
    gate.until(|seen| seen.running > 40).await;
    gate.permit(1_000);
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 700);
    for id in ids {
        let status = inbox.status(id).await.unwrap().unwrap();
        assert_eq!((status.deliveries[0].attempts, status.attempts.len()), (1, 0), "no crash");
    }
    host.shutdown(30 * SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn while_a_quarantined_delivery_begins_nobody_else_does() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).renew_in_place().build().await.unwrap();
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    vanish(&inbox, "work", 1, 2).await;
    schedule(inbox.scheduler(), 1..5, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.began.contains_key(&0)).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(gate.seen().began.len(), 1, "{:?}", gate.seen());
    gate.began(5).await;
    gate.permit(5);
    host.shutdown(SECOND).await;
}
