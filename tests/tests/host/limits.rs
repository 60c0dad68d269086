use std::time::Duration;

use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _};
use inbox::{Batch, Context, ScheduleOptions, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::kit::{Gate, Task, What, builder, faulty, health_is, schedule};

#[tokio::test]
async fn no_more_handlers_run_at_once_than_the_host_allows() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).concurrency(3).build().await.unwrap();
    schedule(inbox.scheduler(), 0..50, What::Wait).await;
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.running == 3).await;
    gate.permit(50);
    assert_eq!(gate.ended(50).await.most, 3);
    host.shutdown(Duration::from_secs(30)).await;
}

#[inbox_contract(name = "host.narrow", version = 1)]
#[derive(Serialize, Deserialize)]
struct Narrow {
    number: u64,
}

#[handler(key = "narrow", concurrency = 2)]
async fn narrow(command: Narrow, State(gate): State<Gate>, context: Context) -> Result<(), String> {
    gate.run(&Task { number: command.number, what: What::Wait }, &context).await
}

#[tokio::test]
async fn a_handlers_own_limit_holds_only_that_handler() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store, &gate).concurrency(8).build().await.unwrap();
    let commands = (0..20).map(|number| (Narrow { number }, ScheduleOptions::new()));
    inbox.scheduler().schedule_all(commands.collect::<Vec<_>>()).await.unwrap();
    let host = inbox.start().unwrap();
    gate.until(|seen| seen.running == 2).await;
    schedule(inbox.scheduler(), 100..200, What::Pass).await;
    gate.ended(100).await;
    assert_eq!(gate.seen().running, 2);
    gate.permit(20);
    gate.ended(120).await;
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_host_limited_to_some_handlers_leaves_the_others_to_other_hosts() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store.clone(), &gate).only_handlers(["work"]).build().await.unwrap();
    let host = inbox.start().unwrap();
    inbox.scheduler().schedule(Narrow { number: 1 }, ScheduleOptions::new()).await.unwrap();
    schedule(inbox.scheduler(), 2..3, What::Pass).await;
    gate.ended(1).await;
    health_is(&inbox, |health| health.load.held() == 0).await;
    // It is known to the store, and waits for a host that runs it.
    let pending = store.list(DeliveryFilter::in_state(DeliveryState::Pending)).await.unwrap();
    assert_eq!(pending.deliveries[0].handler_key.as_deref(), Some("narrow"));
    gate.permit(1);
    let other = builder(store, &gate).only_handlers(["narrow"]).build().await.unwrap();
    let second = other.start().unwrap();
    gate.ended(2).await;
    host.shutdown(Duration::from_secs(30)).await;
    second.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_host_limited_to_some_tenants_leaves_the_others_alone() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    let inbox = builder(store.clone(), &gate).only_tenants(["a"]).build().await.unwrap();
    let host = inbox.start().unwrap();
    for (number, tenant) in [(1, "b"), (2, "a"), (3, "b")] {
        let task = Task { number, what: What::Pass };
        let options = ScheduleOptions::new().tenant(tenant);
        inbox.scheduler().schedule(task, options).await.unwrap();
    }
    gate.until(|seen| seen.ended.contains_key(&2)).await;
    let other = builder(store, &gate).only_tenants(["b", ""]).build().await.unwrap();
    assert_eq!(gate.seen().began.len(), 1);
    let second = other.start().unwrap();
    schedule(inbox.scheduler(), 4..5, What::Pass).await;
    gate.ended(4).await;
    host.shutdown(Duration::from_secs(30)).await;
    second.shutdown(Duration::from_secs(30)).await;
}

#[inbox_contract(name = "host.gathered", version = 1)]
#[derive(Serialize, Deserialize)]
struct Gathered {
    number: u64,
}

#[handler(key = "gather", batch = 10, linger = "300ms")]
async fn gather(commands: Batch<Gathered>, State(gate): State<Gate>) {
    gate.tell(commands.iter().filter(|(_, one)| one.number < 100).count());
}

#[handler(key = "slowly", rate = "2/600ms")]
async fn slowly(command: Slow, State(gate): State<Gate>) {
    gate.tell(command.number);
}

#[inbox_contract(name = "host.slow", version = 1)]
#[derive(Serialize, Deserialize)]
struct Slow {
    number: usize,
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_batch_waits_for_more_for_a_while_and_a_full_one_does_not() {
    let gate = Gate::default();
    // By a clock that moves only when everyone waits.
    let (inbox, _) = faulty(&gate).await;
    let host = inbox.start().unwrap();
    let some = |count| (0..count).map(|number| (Gathered { number }, ScheduleOptions::new()));
    // One by one, they arrive together.
    for one in some(5) {
        inbox.scheduler().schedule(one.0, one.1).await.unwrap();
    }
    assert_eq!(gate.told().await, 5);
    inbox.scheduler().schedule_all(some(20).collect::<Vec<_>>()).await.unwrap();
    let begun = Instant::now();
    assert_eq!((gate.told().await, gate.told().await), (10, 10));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test(start_paused = true)]
async fn a_rate_lets_so_many_begin_in_each_stretch_and_holds_no_more() {
    let gate = Gate::default();
    let store = inbox::sqlite::in_memory().await.unwrap();
    // By a clock that moves only when everyone waits.
    let inbox = builder(store, &gate).renew_in_place().build().await.unwrap();
    let host = inbox.start().unwrap();
    let some = (0..6).map(|number| (Slow { number }, ScheduleOptions::new()));
    inbox.scheduler().schedule_all(some.collect::<Vec<_>>()).await.unwrap();
    let mut times = Vec::new();
    for _ in 0..6 {
        gate.told().await;
        times.push(Instant::now());
        // What may not begin yet is not held either: another host may take it.
        assert!(inbox.control().health().load.buffered <= 2);
    }
    for (first, third) in times.iter().zip(&times[2..]) {
        assert!(*third - *first >= Duration::from_millis(600), "{times:?}");
    }
    host.shutdown(Duration::from_secs(30)).await;
}
