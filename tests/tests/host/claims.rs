//! What a host leases, and how much of it.

use std::sync::Arc;
use std::time::Duration;

use inbox::hosting::Health;
use inbox::store::{
    DeliveryState, Inspect as _, LeaseStore as _, Maintain as _, Now, OnDead, Route, StoreErrorKind,
};
use inbox::{Batch, Context, Inbox, ScheduleOptions, Scheduler, State, handler, inbox_contract};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::kit::{
    Gate, Seen, Task, What, all_are, builder, faulty, faulty_builder, health_is, schedule,
};

#[inbox_contract(name = "host.renamed", version = 1)]
#[derive(Serialize, Deserialize)]
struct Renamed {
    number: u64,
}

#[handler(key = "renamed-new", legacy = ["renamed-old"], batch = 10)]
async fn renamed(commands: Batch<Renamed>, State(gate): State<Gate>) {
    gate.tell(commands.iter().filter(|(_, one)| one.number < 1_000).count());
}

#[tokio::test]
async fn a_batch_handler_with_a_legacy_key_takes_what_is_stored_under_both() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let route = Route {
        contract: "host.renamed".to_owned(),
        handler_key: "renamed-old".to_owned(),
        supersedes: vec![],
        context: String::new(),
        on_dead: OnDead::Block,
    };
    store.register_routes(vec![route], Now::OfStore).await.unwrap();
    let scheduler = Scheduler::new(Arc::new(store.clone()));
    for number in 0..3 {
        scheduler.schedule(Renamed { number }, ScheduleOptions::new()).await.unwrap();
    }
    let inbox = builder(store.clone(), &gate).build().await.unwrap();
    for number in 3..6 {
        inbox.scheduler().schedule(Renamed { number }, ScheduleOptions::new()).await.unwrap();
    }
    let host = inbox.start().unwrap();
    let mut taken = 0;
    while taken < 6 {
        taken += gate.told().await;
    }
    // Each of them once.
    assert_eq!(taken, 6);
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 6);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn nothing_is_leased_for_a_slot_that_is_kept_for_others() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let first = builder(store.clone(), &gate).concurrency(8).build().await.unwrap();
    let other = builder(store.clone(), &gate).concurrency(8).build().await.unwrap();
    let _first = first.start().unwrap();
    schedule(first.scheduler(), 0..8, What::Wait).await;
    gate.until(|seen| seen.running >= 6).await;
    let _other = other.start().unwrap();
    gate.began(8).await;
}

#[tokio::test]
async fn a_poll_interval_without_end_is_one() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).poll_interval(Duration::MAX).build().await.unwrap();
    let _host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    health_is(&inbox, Health::is_live).await;
}

#[tokio::test]
async fn a_buffer_without_bound_is_one() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).buffer(usize::MAX).build().await.unwrap();
    let _host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    health_is(&inbox, Health::is_live).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_took_longer_than_a_lease_is_renewed_before_it_is_begun() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    // By the store's own clock, which goes on as it always does: for it, the whole test takes a moment,
    // and no lease is over. By the host's clock it takes ten leases.
    let lease = Duration::from_mins(1);
    let inbox = builder(store.clone(), &gate).renew_in_place();
    let inbox = inbox.lease_duration(lease).concurrency(1).build().await.unwrap();
    // Claims wait for a connection for longer than a lease holds, and then are given all of it.
    store.trouble(Verb::Lease, Trouble::Slow(lease * 6 / 5), u32::MAX);
    schedule(inbox.scheduler(), 0..5, What::WaitOrStop).await;
    let _host = inbox.start().unwrap();
    gate.began(1).await;
    tokio::time::sleep(lease * 10).await;
    // Leased again and again, it would be begun and lost each time.
    assert!(gate.seen().began.values().all(|times| *times == 1), "{:?}", gate.seen());
    gate.permit(5);
    // Without looking all the time, which takes the store's own time: its leases must hold for all of it.
    gate.ended(5).await;
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 5);
}

#[inbox_contract(name = "host.moved", version = 1)]
#[derive(Serialize, Deserialize)]
struct Moved {
    number: u64,
}

#[handler(key = "moved-new", legacy = ["moved-old"])]
async fn moved(command: Moved, State(gate): State<Gate>, context: Context) -> Result<(), String> {
    gate.run(&Task { number: command.number, what: What::Wait }, &context).await
}

#[tokio::test]
async fn a_handler_with_a_legacy_key_is_not_leased_twice_its_room() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let route = Route {
        contract: "host.moved".to_owned(),
        handler_key: "moved-old".to_owned(),
        supersedes: vec![],
        context: String::new(),
        on_dead: OnDead::Block,
    };
    store.register_routes(vec![route], Now::OfStore).await.unwrap();
    let scheduler = Scheduler::new(Arc::new(store.clone()));
    for number in 0..10 {
        scheduler.schedule(Moved { number }, ScheduleOptions::new()).await.unwrap();
    }
    let inbox = builder(store.clone(), &gate)
        .only_handlers(["moved-new"])
        .concurrency(4)
        .buffer(0)
        .build()
        .await
        .unwrap();
    for number in 10..20 {
        inbox.scheduler().schedule(Moved { number }, ScheduleOptions::new()).await.unwrap();
    }
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.running == 4).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let health = inbox.control().health();
    host.shutdown(Duration::ZERO).await;
    assert_eq!(health.load.buffered, 0, "{health}");
}

#[tokio::test(start_paused = true)]
async fn a_late_claim_is_given_back_when_the_host_ends_while_it_renews() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.lease_duration(Duration::from_secs(3)).build().await.unwrap();
    schedule(inbox.scheduler(), 0..3, What::Pass).await;
    store.trouble(Verb::Lease, Trouble::Slow(Duration::from_millis(1_200)), u32::MAX);
    store.trouble(Verb::Renew, Trouble::Hangs, u32::MAX);
    let host = inbox.start().unwrap();
    // The claim was late, and the renewal that follows it hangs.
    while store.met() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(all_are(&store, DeliveryState::Processing).await, 3);
    let report = host.shutdown(Duration::ZERO).await;
    // The store does one thing after the other: this answer comes after what the host gave back.
    let counts = store.counts().await.unwrap();
    assert!(
        counts.iter().all(|count| count.state == DeliveryState::Pending),
        "{counts:?} {report:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn news_that_comes_while_a_claim_is_under_way_is_not_forgotten() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.poll_interval(Duration::from_mins(5)).build().await.unwrap();
    let host = inbox.start().unwrap();
    // So long that the next poll is about five minutes away.
    tokio::time::sleep(Duration::from_mins(20)).await;
    // A claim finds nothing, and says so when there is something.
    store.trouble(Verb::Lease, Trouble::LateAnswer(Duration::from_secs(5)), 1);
    store.bell().unwrap().ring();
    tokio::time::sleep(Duration::from_secs(2)).await;
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    let begun = Instant::now();
    gate.ended(1).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_claims_is_not_asked_all_the_time() {
    let gate = Gate::default();
    let (inbox, store) = faulty(&gate).await;
    store.trouble(Verb::Lease, Trouble::Fails(StoreErrorKind::Busy), u32::MAX);
    let host = inbox.start().unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!((2..50).contains(&store.met()), "{}", store.met());
    host.shutdown(Duration::ZERO).await;
}

#[inbox_contract(name = "host.rare", version = 1)]
#[derive(Serialize, Deserialize)]
struct Rare {
    number: u64,
}

#[handler(key = "rare")]
async fn rare(command: Rare, State(gate): State<Gate>, context: Context) -> Result<(), String> {
    gate.run(&Task { number: command.number, what: What::Pass }, &context).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_notifications_a_busy_handler_keeps_no_other_from_being_asked_for() {
    let database = inbox::testing::postgres::PostgresDatabase::create().await.unwrap();
    let gate = Gate::default();
    let quiet = async || {
        let options =
            inbox::postgres::PostgresOptions::new().ensure_schema().connections(4).without_notify();
        options.open(&database.url()).await.unwrap()
    };
    let inbox = builder(quiet().await, &gate).build().await.unwrap();
    let elsewhere = Inbox::builder(quiet().await).scheduler_only().build().await.unwrap();
    let page = |number: u64| 10 + number * 2_000..10 + (number + 1) * 2_000;
    schedule(elsewhere.scheduler(), page(0), What::Pass).await;
    schedule(elsewhere.scheduler(), page(1), What::Pass).await;
    let host = inbox.start().unwrap();
    gate.ended(1_000).await;
    elsewhere.scheduler().schedule(Rare { number: 0 }, ScheduleOptions::new()).await.unwrap();
    // There is always more for the busy one, until the other has had its turn.
    for number in 2.. {
        schedule(elsewhere.scheduler(), page(number), What::Pass).await;
        let before = usize::try_from((number - 1) * 2_000).unwrap();
        let is_over = |seen: &Seen| seen.ended.contains_key(&0);
        let seen = gate.until(|seen| is_over(seen) || seen.ended.len() >= before).await;
        if is_over(&seen) {
            break;
        }
        assert!(number < 200, "asked for by nobody in all that time");
    }
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_with_two_keys_and_room_for_one_does_not_ask_all_the_time() {
    let gate = Gate::default();
    let (inbox, store) = faulty_builder(&gate).await;
    let inbox = inbox.only_handlers(["moved-new"]).concurrency(2).build().await.unwrap();
    inbox.scheduler().schedule(Moved { number: 0 }, ScheduleOptions::new()).await.unwrap();
    let host = inbox.start().unwrap();
    gate.began(1).await;
    // Every claim is counted, and does what it always does.
    store.trouble(Verb::Lease, Trouble::Slow(Duration::ZERO), u32::MAX);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(store.met() < 100, "{} claims in ten seconds", store.met());
    gate.permit(1);
    host.shutdown(Duration::from_secs(5)).await;
}
