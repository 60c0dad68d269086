//! A million commands wait, and handlers stall: a host holds little of it. In a program of its own, so
//! that its memory is nobody else's.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use inbox::hosting::Load;
use inbox::postgres::PostgresOptions;
use inbox::store::{DeliveryState, Inspect as _};
use inbox::testing::postgres::PostgresDatabase;
use inbox::{Inbox, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

const BACKLOG: u64 = 1_000_000;

/// What the host may hold with the options as they come: its calls, and what it leases ahead.
const BOUND: usize = 64 + 2_000;

/// More than the host may need; a fiftieth of what the backlog would need.
const MEMORY: u64 = 64 * 1024 * 1024;

/// Longer than anything here takes, however busy the machine is: only what hangs takes longer.
const PATIENCE: Duration = Duration::from_mins(10);

#[inbox_contract(name = "backlog.task", version = 1)]
#[derive(Serialize, Deserialize)]
struct Task {
    number: u64,
    text: String,
}

#[derive(Clone)]
struct Gate {
    permits: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    handled: Arc<AtomicU64>,
}

#[handler(key = "backlog")]
async fn handle(task: Task, State(gate): State<Gate>) {
    gate.waiting.fetch_add(1, Ordering::SeqCst);
    gate.permits.acquire().await.unwrap().forget();
    gate.waiting.fetch_sub(1, Ordering::SeqCst);
    gate.handled.fetch_add(u64::from(!task.text.is_empty()), Ordering::SeqCst);
}

/// Stores them as no application could, so that the test need not wait for it.
const FILL: &str = "
    INSERT INTO inbox.message (id, contract, version, payload, accepted_at)
    SELECT gen_random_uuid(), 'backlog.task', 1,
           jsonb_build_object('number', number, 'text', repeat('x', 1000)), clock_timestamp()
    FROM generate_series(1, 1000000) AS number;
    INSERT INTO inbox.ready (handler_key, priority, version, message_id)
    SELECT 'backlog', 1, 1, id FROM inbox.message;";

/// Bytes of memory that this program has now.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let resident: u64 = pages.split_whitespace().nth(1).unwrap().parse().unwrap();
    resident * 4096
}

/// Waits for what a test expects, and looks all the time at how much is held.
async fn until(load: impl Fn() -> Load, mut expected: impl FnMut(Load) -> bool) {
    let begun = Instant::now();
    loop {
        let now = load();
        assert!(now.held() <= BOUND, "{now:?}");
        if expected(now) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{now:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stays_bounded_with_a_million_waiting_and_handlers_that_stall() {
    let database = PostgresDatabase::create().await.unwrap();
    // Counting a million rows takes a busy machine a while.
    let options = PostgresOptions::new().ensure_schema().call_timeout(PATIENCE);
    let store = options.open(&database.url()).await.unwrap();
    database.connect().await.unwrap().batch_execute(FILL).await.unwrap();
    let permits = Arc::new(Semaphore::new(0));
    let gate = Gate { permits, waiting: Arc::default(), handled: Arc::default() };
    // No lease is over before the test is: each command is handled once.
    let inbox = Inbox::builder(store.clone()).state(gate.clone()).lease_duration(PATIENCE);
    let inbox = inbox.build().await.unwrap();
    let before = memory();
    let host = inbox.start().unwrap();
    let control = inbox.control();
    let load = || control.health().load;
    // Nobody knows the handler yet, so nothing is leased ahead of it.
    until(load, |load| load.running == 64).await;
    assert_eq!(load().held(), 64);
    assert!(memory() < before + MEMORY, "{before} before, {} now", memory());
    // It is fast for a while, and much is leased ahead; then it stalls.
    gate.permits.add_permits(50_000);
    let has_stalled = |load: Load| {
        let waits = gate.waiting.load(Ordering::SeqCst) == 64;
        gate.handled.load(Ordering::SeqCst) == 50_000 && waits && load.unsettled == 0
    };
    until(load, has_stalled).await;
    assert!(memory() < before + MEMORY, "{before} before, {} now", memory());
    // What it cannot begin is given back, for hosts that can.
    until(load, |load| load.held() == 64).await;
    let report = host.shutdown(Duration::ZERO).await;
    // Nothing is in between, what the host could not give back in time excepted.
    let begun = Instant::now();
    loop {
        let counts = store.counts().await.unwrap();
        let of = |state| counts.iter().find(|count| count.state == state).map_or(0, |of| of.count);
        let (done, ready) = (of(DeliveryState::Completed), of(DeliveryState::Pending));
        let held = of(DeliveryState::Processing);
        assert_eq!((done, done + ready + held), (50_000, BACKLOG), "{counts:?}");
        if held <= report.left {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{counts:?} {report:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
