//! What a review of the host found.

use std::sync::Arc;
use std::time::Duration;

use inbox::hosting::{Event, Health, HostPhase, Observer};
use inbox::postgres::tokio_postgres;
use inbox::store::{
    Clock, DeliveryState, Inspect as _, LeaseRequest, LeaseStore as _, Maintain as _, Now, Route,
    StoreErrorKind, Wanted,
};
use inbox::{
    Batch, Context, Inbox, ScheduleOptions, Scheduler, State, Timestamp, handler, inbox_contract,
};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::kit::{self, Gate, Task, What, all_are, builder, health_is, schedule};

struct RuntimeClock(Timestamp, Instant);
impl Clock for RuntimeClock {
    fn now(&self) -> Now {
        Now::At(self.0 + self.1.elapsed())
    }
}

async fn faulty(gate: &Gate) -> (Inbox<FaultyStore>, FaultyStore) {
    let store = FaultyStore::new().await.unwrap();
    let clock = Arc::new(RuntimeClock(Timestamp::now(), Instant::now()));
    let inbox = builder(store.clone(), gate).clock(clock).renew_in_place();
    (inbox.build().await.unwrap(), store)
}

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
    };
    store.register_routes(vec![route], Now::OfStore).await.unwrap();
    let scheduler = Scheduler::new(Arc::new(store.clone()));
    for number in 0..3 {
        scheduler.schedule(Renamed { number }, ScheduleOptions::new()).await.unwrap();
    }
    let inbox = builder(store.clone(), &gate)
        .lease_duration(Duration::from_millis(300))
        .build()
        .await
        .unwrap();
    for number in 3..6 {
        inbox.scheduler().schedule(Renamed { number }, ScheduleOptions::new()).await.unwrap();
    }
    let host = inbox.start().unwrap();
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 6);
    host.shutdown(Duration::ZERO).await;
}

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

#[tokio::test]
async fn a_drain_of_a_host_that_leases_nothing_ends() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).without_background_processing().build().await.unwrap();
    let _host = inbox.start().unwrap();
    let drain =
        tokio::time::timeout(Duration::from_secs(3), async { inbox.control().drain().await });
    assert!(drain.await.unwrap());
}

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

#[tokio::test]
async fn a_suspect_keeps_to_its_handlers_limit() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store.clone(), &gate).build().await.unwrap();
    let host = inbox.start().unwrap();
    let one =
        |number, what| inbox.scheduler().schedule(Single { number, what }, ScheduleOptions::new());
    for number in 0..20 {
        one(number, What::Pass).await.unwrap();
    }
    gate.ended(20).await;
    one(100, What::Wait).await.unwrap();
    gate.began(21).await;
    inbox.control().pause();
    tokio::time::sleep(Duration::from_millis(300)).await;
    one(200, What::Wait).await.unwrap();
    let request = LeaseRequest {
        host: "other".to_owned(),
        duration: Duration::from_millis(100),
        wanted: vec![Wanted {
            handler_key: "single".to_owned(),
            versions: vec![1],
            limit: 1.try_into().unwrap(),
            max_attempts: 5.try_into().unwrap(),
        }],
        tenants: None,
    };
    assert_eq!(store.lease(request, Now::OfStore).await.unwrap().len(), 1);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    inbox.control().resume();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let seen = gate.seen();
    assert_eq!(seen.most, 1, "{seen:?}");
    host.shutdown(Duration::ZERO).await;
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
        let events: Vec<_> = receiver.try_iter().collect();
        if !events.iter().any(|event| matches!(event, Event::Stopping)) {
            missing += 1;
        }
    }
    assert_eq!(missing, 0);
}

#[tokio::test]
async fn a_short_stall_after_does_not_flap() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).stall_after(Duration::from_secs(1)).build().await.unwrap();
    let _host = inbox.start().unwrap();
    health_is(&inbox, inbox::hosting::Health::is_ready).await;
    for _ in 0..500 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let health = inbox.control().health();
        assert!(health.is_ready(), "{health}");
    }
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

/// Statements of the server in this time.
async fn statements(client: &tokio_postgres::Client, time: Duration) -> i64 {
    let sql = "SELECT pg_stat_clear_snapshot(), xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    let first: i64 = client.query_one(sql, &[]).await.unwrap().get(1);
    tokio::time::sleep(time).await;
    let last: i64 = client.query_one(sql, &[]).await.unwrap().get(1);
    last - first
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_due_row_that_someone_holds_does_not_make_upkeep_spin() {
    let database = inbox::testing::postgres::PostgresDatabase::create().await.unwrap();
    let options = inbox::postgres::PostgresOptions::new().ensure_schema().connections(4);
    let store = options.open(&database.url()).await.unwrap();
    let gate = Gate::default();
    let inbox = builder(store, &gate).build().await.unwrap();
    let client = database.connect().await.unwrap();
    let holder = database.connect().await.unwrap();
    let options = ScheduleOptions::new().delay(Duration::from_secs(2));
    inbox.scheduler().schedule(Task { number: 0, what: What::Pass }, options).await.unwrap();
    holder.batch_execute("BEGIN; SELECT 1 FROM inbox.waiting FOR UPDATE").await.unwrap();
    let host = inbox.start().unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let held = statements(&client, Duration::from_secs(3)).await / 3;
    holder.batch_execute("COMMIT").await.unwrap();
    gate.ended(1).await;
    host.shutdown(Duration::ZERO).await;
    assert!(held < 100, "{held}");
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
    tokio::time::sleep(Duration::from_millis(300)).await;
    let _other = other.start().unwrap();
    let begun = Instant::now();
    gate.began(8).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
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

#[tokio::test]
async fn a_drain_during_a_shutdown_waits_for_handlers() {
    let gate = Gate::default();
    let inbox = kit::in_memory(&gate).await;
    schedule(inbox.scheduler(), 0..1, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.began(1).await;
    let stopping = tokio::spawn(async move { host.shutdown(Duration::from_mins(1)).await });
    health_is(&inbox, |health| health.phase == HostPhase::Stopping).await;
    let drained =
        tokio::time::timeout(Duration::from_secs(1), async { inbox.control().drain().await }).await;
    let running = gate.seen().running;
    gate.permit(1);
    stopping.await.unwrap();
    assert!(drained != Ok(true) || running == 0, "drained, and {running} running");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_took_longer_than_a_lease_is_renewed_before_it_is_begun() {
    let gate = Gate::default();
    let store = FaultyStore::new().await.unwrap();
    // By the store's own clock, which goes on as it always does.
    let inbox = builder(store.clone(), &gate).renew_in_place();
    let inbox = inbox.lease_duration(Duration::from_secs(5)).concurrency(1).build().await.unwrap();
    // Claims wait for a connection for longer than a lease holds, and then are given all of it.
    store.trouble(Verb::Lease, Trouble::Slow(Duration::from_secs(6)), u32::MAX);
    schedule(inbox.scheduler(), 0..5, What::WaitOrStop).await;
    let _host = inbox.start().unwrap();
    gate.began(1).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    // Leased again and again, it would be begun and lost each time.
    assert!(gate.seen().began.values().all(|times| *times == 1), "{:?}", gate.seen());
    gate.permit(5);
    assert_eq!(all_are(&store, DeliveryState::Completed).await, 5);
}
