//! A limit of the fleet, and hosts that lease more deliveries than it has permits.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use inbox::postgres::PostgresStore;
use inbox::schedule::ScheduleOptions;
use inbox::store::{
    DeliveryState, Inspect as _, LeaseRequest, LeaseStore as _, Now, Runs, Terms, Wanted,
};
use inbox::{Inbox, State, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::PATIENCE;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const COUNT: u32 = 300;

#[inbox_contract(name = "export", version = 1)]
#[derive(Serialize, Deserialize)]
struct Export {
    number: u32,
}

/// How many handlers run, and the most that ever did.
#[derive(Clone)]
struct Running {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    ended: UnboundedSender<u32>,
}

#[handler(key = "export", concurrency(fleet = 3), max_attempts = 1)]
async fn export(command: Export, State(running): State<Running>) -> Result<(), String> {
    let now = running.now.fetch_add(1, Ordering::SeqCst) + 1;
    running.most.fetch_max(now, Ordering::SeqCst);
    tokio::task::yield_now().await;
    running.now.fetch_sub(1, Ordering::SeqCst);
    running.ended.send(command.number).unwrap();
    if command.number.is_multiple_of(3) { Err("no room".to_owned()) } else { Ok(()) }
}

fn running(ended: UnboundedSender<u32>) -> Running {
    Running { now: Arc::default(), most: Arc::default(), ended }
}

async fn inbox(database: &PostgresDatabase, running: &Running) -> Inbox<PostgresStore> {
    let options = reach::options().connections(4).ensure_schema();
    let store = options.open_config(database.config().clone()).await.unwrap();
    Inbox::builder(store).state(running.clone()).state(Last::default()).build().await.unwrap()
}

async fn all_of(ended: &mut UnboundedReceiver<u32>) -> Vec<u32> {
    let mut all = Vec::new();
    while all.len() < COUNT as usize {
        all.push(ended.recv().await.unwrap());
    }
    all.sort_unstable();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_run_no_more_at_once_than_there_are_permits_and_failures_hold_up_no_other() {
    let database = PostgresDatabase::create().await.unwrap();
    let (sender, mut ended) = unbounded_channel();
    let running = running(sender);
    let inboxes = [inbox(&database, &running).await, inbox(&database, &running).await];
    for number in 0..COUNT {
        inboxes[0].scheduler().schedule(Export { number }, ScheduleOptions::new()).await.unwrap();
    }
    let hosts = inboxes.each_ref().map(|inbox| inbox.start().unwrap());
    assert_eq!(all_of(&mut ended).await, (0..COUNT).collect::<Vec<_>>(), "each once");
    for host in hosts {
        host.shutdown(PATIENCE).await;
    }
    assert!(running.most.load(Ordering::SeqCst) <= 3, "{:?} ran at once", running.most);
    let mut counts = inboxes[0].store().counts().await.unwrap();
    counts.sort_by_key(|count| count.count);
    let counts: Vec<_> = counts.iter().map(|count| (count.state, count.count)).collect();
    assert_eq!(counts, [(DeliveryState::Dead, 100), (DeliveryState::Completed, 200)]);
}

#[inbox_contract(name = "import", version = 1)]
#[derive(Serialize, Deserialize)]
struct Import {
    number: u32,
}

/// The first one ends after all the others.
#[derive(Clone, Default)]
struct Last {
    ended: Arc<AtomicUsize>,
    others: Arc<Notify>,
}

#[handler(key = "import", concurrency(fleet = 2))]
async fn import(command: Import, State(last): State<Last>) {
    if command.number == COUNT - 1 {
        last.others.notified().await;
    } else if last.ended.fetch_add(1, Ordering::SeqCst) + 2 == COUNT as usize {
        last.others.notify_one();
    }
}

#[tokio::test]
async fn a_delivery_that_takes_long_keeps_its_permit_and_no_other() {
    let database = PostgresDatabase::create().await.unwrap();
    let (sender, _ended) = unbounded_channel();
    let inbox = inbox(&database, &running(sender)).await;
    let numbers = (0..COUNT).map(|number| (Import { number }, ScheduleOptions::new()));
    for receipt in inbox.scheduler().schedule_all(numbers.rev()).await.unwrap() {
        receipt.unwrap();
    }
    let pending = inbox.process_pending().await.unwrap();
    assert_eq!(pending.completed, u64::from(COUNT), "{pending:?}");
}

#[tokio::test]
async fn a_claim_is_given_several_deliveries_for_each_permit() {
    let database = PostgresDatabase::create().await.unwrap();
    let (sender, _ended) = unbounded_channel();
    let running = running(sender);
    let inbox = inbox(&database, &running).await;
    for number in 0..COUNT {
        inbox.scheduler().schedule(Export { number }, ScheduleOptions::new()).await.unwrap();
    }
    let some = |count| NonZeroU32::new(count).unwrap();
    let runs = Runs { lanes: some(2), length: some(50) };
    let wanted = Wanted {
        handler_key: "export".to_owned(),
        versions: vec![1],
        limit: some(200),
        max_crashes: NonZeroU32::MIN,
        terms: Terms { fleet: NonZeroU32::new(3), runs, ..Terms::default() },
    };
    for expected in [(Some(some(2)), 100), (Some(some(1)), 50)] {
        let (host, hour) = ("worker".to_owned(), Duration::from_hours(1));
        let request = LeaseRequest::new(host, hour, vec![wanted.clone()]);
        let leases = inbox.store().lease(request, Now::OfStore).await.unwrap();
        let found: Vec<_> = leases.iter().map(|one| (one.permits, one.deliveries.len())).collect();
        assert_eq!(found, [expected], "no wider than it wants, and no more than is left");
    }
}
