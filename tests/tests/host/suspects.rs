//! Deliveries whose earlier worker vanished.

use std::time::Duration;

use inbox::hosting::HostHandle;
use inbox::store::{
    DeliveryState, Inspect as _, LeaseRequest, LeaseStore as _, Maintain as _, Now, StoreErrorKind,
    Terms, Wanted,
};
use inbox::{Context, Inbox, ScheduleOptions, State, handler, inbox_contract};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use serde::{Deserialize, Serialize};

use crate::kit::{Gate, Task, What, builder, faulty, faulty_builder, health_is, schedule};

#[tokio::test(start_paused = true)]
async fn a_suspect_is_not_dropped_when_an_older_one_ends() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    store.trouble(Verb::Renew, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let host = inbox.start().unwrap();
    // Lost once, it is a suspect; lost twice, there is another suspect while the first runs.
    while gate.seen().began.get(&0) != Some(&2) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    health_is(&inbox, |health| health.load.buffered == 1).await;
    store.heal();
    gate.permit(2);
    gate.until(|seen| seen.ended.get(&0) == Some(&2)).await;
    gate.permit(10);
    tokio::time::sleep(Duration::from_mins(30)).await;
    let counts = store.counts().await.unwrap();
    assert!(counts.iter().all(|count| count.state == DeliveryState::Completed), "{counts:?}");
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

/// A host whose one call of `single` is at work, while another worker holds a `Single` for a minute and
/// a task for three, and says no more.
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
        let now = inbox.scheduler().clock().now();
        let single = async |number, what| {
            let options = ScheduleOptions::new();
            inbox.scheduler().schedule(Single { number, what }, options).await.unwrap();
        };
        single(200, What::Pass).await;
        schedule(inbox.scheduler(), 300..301, What::Pass).await;
        for (key, minutes) in [("single", 1), ("work", 3)] {
            let request = wanted(key, Duration::from_mins(minutes));
            assert_eq!(store.lease(request, now).await.unwrap().len(), 1);
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

    /// Brings back what is over after so many minutes.
    async fn reclaim_after(&self, minutes: u64) {
        let Now::At(now) = self.inbox.scheduler().clock().now() else { panic!("no clock") };
        let later = Now::At(now + Duration::from_mins(minutes));
        assert_eq!(self.store.reclaim(10, later).await.unwrap().returned, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspect_keeps_to_its_handlers_limit() {
    let vanished = Vanished::new().await;
    vanished.reclaim_after(2).await;
    let Vanished { gate, inbox, store: _store, host } = vanished;
    health_is(&inbox, |health| health.load.buffered == 1 || gate.seen().most > 1).await;
    // Long after it stopped to wait for others, and before it is given back.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let seen = gate.seen();
    assert_eq!(seen.most, 1, "{seen:?}");
    assert!(!seen.began.contains_key(&200), "{seen:?}");
    gate.permit(1);
    gate.until(|seen| seen.ended.contains_key(&200)).await;
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn many_suspects_follow_each_other_without_waiting_for_a_poll() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store.clone(), &gate).poll_interval(Duration::from_hours(1));
    let inbox = inbox.build().await.unwrap();
    schedule(inbox.scheduler(), 0..100, What::Pass).await;
    // A worker that vanishes with all of them.
    let wanted = Wanted {
        handler_key: "work".to_owned(),
        versions: vec![1],
        limit: 100.try_into().unwrap(),
        max_attempts: 5.try_into().unwrap(),
        terms: Terms::default(),
    };
    let (host, duration) = ("gone".to_owned(), Duration::from_secs(1));
    let request = LeaseRequest { host, duration, wanted: vec![wanted], tenants: None };
    let vanished = inbox::Timestamp::now();
    store.lease(request, Now::At(vanished)).await.unwrap();
    let later = Now::At(vanished + Duration::from_secs(2));
    assert_eq!(store.reclaim(1_000, later).await.unwrap().returned, 100);
    let host = inbox.start().unwrap();
    gate.ended(100).await;
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_host_had_not_begun_when_it_was_cut_off_for_long_is_under_no_suspicion() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    // Fast until now, and so with much leased ahead.
    schedule(inbox.scheduler(), 0..500, What::Pass).await;
    let host = inbox.start().unwrap();
    gate.ended(500).await;
    schedule(inbox.scheduler(), 500..700, What::WaitOrStop).await;
    health_is(&inbox, |health| health.load.buffered > 50).await;
    for verb in Verb::ALL {
        store.trouble(verb, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    }
    tokio::time::sleep(Duration::from_mins(5)).await;
    store.heal();
    // Suspects would come one by one; of what was begun, one runs beside the others.
    gate.until(|seen| seen.running > 40).await;
    gate.permit(1_000);
    gate.ended(700).await;
    host.shutdown(Duration::from_secs(30)).await;
}

fn wanted(key: &str, duration: Duration) -> LeaseRequest {
    LeaseRequest {
        host: "other".to_owned(),
        duration,
        wanted: vec![Wanted {
            handler_key: key.to_owned(),
            versions: vec![1],
            limit: 1.try_into().unwrap(),
            max_attempts: 5.try_into().unwrap(),
            terms: Terms::default(),
        }],
        tenants: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspect_that_waits_for_a_stalled_handler_holds_no_other_suspect() {
    let vanished = Vanished::new().await;
    vanished.reclaim_after(2).await;
    health_is(&vanished.inbox, |health| health.load.buffered == 1).await;
    vanished.reclaim_after(4).await;
    let Vanished { gate, inbox, host, .. } = vanished;
    let other = tokio::time::timeout(
        Duration::from_secs(15),
        gate.until(|seen| seen.ended.contains_key(&300)),
    )
    .await;
    let health = inbox.control().health();
    assert!(other.is_ok(), "{health}");
    assert!(!gate.seen().ended.contains_key(&100), "its handler does not stall");
    gate.permit(1);
    host.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn while_a_suspect_begins_nobody_else_does() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store.clone(), &gate).renew_in_place().build().await.unwrap();
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let (now, lease) = (inbox::Timestamp::now(), Duration::from_secs(1));
    assert_eq!(store.lease(wanted("work", lease), Now::At(now)).await.unwrap().len(), 1);
    let later = Now::At(now + lease * 2);
    assert_eq!(store.reclaim(10, later).await.unwrap().returned, 1);
    schedule(inbox.scheduler(), 1..5, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.began.contains_key(&0)).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(gate.seen().began.len(), 1, "{:?}", gate.seen());
    gate.began(5).await;
    gate.permit(5);
    host.shutdown(Duration::from_secs(1)).await;
}
