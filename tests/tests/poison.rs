//! A command whose handler ends the process, again and again.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inbox::sqlite::SqliteStore;
use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _};
use inbox::{MessageId, ScheduleOptions, Scheduler, inbox_contract};
use serde::{Deserialize, Serialize};

const INNOCENT: u64 = 300;

const PATIENCE: Duration = Duration::from_mins(10);

#[inbox_contract(name = "eat", version = 1)]
#[derive(Serialize, Deserialize)]
struct Eat {
    is_poison: bool,
    naps: bool,
}

/// For a process that starts after so many deaths, the leases of those before it have expired.
fn start(file: &Path, deaths: u32) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_poisoned_worker"));
    command.arg(file).arg(deaths.to_string()).stdin(Stdio::piped()).spawn().unwrap()
}

/// Schedules the poison among innocents, and answers its id.
async fn schedule(store: &Arc<SqliteStore>, naps: bool, options: &ScheduleOptions) -> MessageId {
    let is_poison = |number| number == INNOCENT / 2;
    let commands = (0..=INNOCENT)
        .map(|number| (Eat { is_poison: is_poison(number), naps }, options.clone()))
        .collect::<Vec<_>>();
    let scheduler = Scheduler::new(Arc::clone(store));
    let receipts = scheduler.schedule_all(commands).await.unwrap();
    let poison = receipts.into_iter().zip(0..).find(|(_, number)| is_poison(*number));
    poison.unwrap().0.unwrap().message_id()
}

/// Works all off with one process after the other, as a service manager would: whenever one has died, the next
/// one is started. Answers how many died.
async fn work_off(file: &Path, store: &SqliteStore) -> u32 {
    let (mut worker, mut deaths, begun) = (start(file, 0), 0, Instant::now());
    loop {
        let counts = store.counts().await.unwrap();
        if !counts.is_empty() && counts.iter().all(|count| count.state.is_terminal()) {
            break;
        }
        if worker.try_wait().unwrap().is_some() {
            deaths += 1;
            worker = start(file, deaths);
        }
        assert!(begun.elapsed() < PATIENCE, "{deaths} deaths, {counts:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(worker.stdin.take());
    assert!(worker.wait().unwrap().success());
    deaths
}

/// The poison is dead, and recorded for each process that it took down; the others were charged nothing.
/// Answers how many deaths were recorded.
async fn check(store: &SqliteStore, poison: MessageId) -> usize {
    let dead = store.list(DeliveryFilter::in_state(DeliveryState::Dead)).await.unwrap().deliveries;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].message_id, poison);
    assert_eq!((dead[0].attempts, dead[0].reason.as_deref()), (0, Some("lease-expired")));
    let record = store.show(poison).await.unwrap().unwrap();
    let completed = DeliveryFilter::in_state(DeliveryState::Completed);
    let completed = DeliveryFilter { limit: Some(1_000), ..completed };
    let completed = store.list(completed).await.unwrap().deliveries;
    assert_eq!(completed.len() as u64, INNOCENT);
    assert!(completed.iter().all(|one| one.attempts == 1), "the neighbours were charged nothing");
    record.attempts.len()
}

#[tokio::test]
async fn a_command_that_kills_its_process_ends_as_a_dead_letter_and_takes_no_other_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("inbox.db");
    let store = Arc::new(inbox::sqlite::open(&file).await.unwrap());
    let poison = schedule(&store, true, &ScheduleOptions::new()).await;
    // Twice, others were at work too. Then three more, quarantined: with others, or alone.
    assert_eq!(work_off(&file, &store).await, 5);
    assert_eq!(check(&store, poison).await, 5, "each is recorded");
}

#[tokio::test]
async fn in_the_middle_of_a_lane_it_takes_no_more_processes_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("inbox.db");
    let store = Arc::new(inbox::sqlite::open(&file).await.unwrap());
    let poison = schedule(&store, false, &ScheduleOptions::new().ordering_key("lane")).await;
    assert_eq!(work_off(&file, &store).await, 5);
    // The first death may be recorded with one before it, whose end was not written yet.
    let recorded = check(&store, poison).await;
    assert!((4..=5).contains(&recorded), "{recorded}");
}
