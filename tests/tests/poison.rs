//! A command whose handler ends the process, again and again.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _};
use inbox::{ScheduleOptions, Scheduler, inbox_contract};
use serde::{Deserialize, Serialize};

const INNOCENT: u64 = 300;

const PATIENCE: Duration = Duration::from_mins(10);

#[inbox_contract(name = "eat", version = 1)]
#[derive(Serialize, Deserialize)]
struct Eat {
    is_poison: bool,
}

/// For a process that starts after so many deaths, the leases of those before it have expired.
fn start(file: &Path, deaths: u32) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_poisoned_worker"));
    command.arg(file).arg(deaths.to_string()).stdin(Stdio::piped()).spawn().unwrap()
}

#[tokio::test]
async fn a_command_that_kills_its_process_ends_as_a_dead_letter_and_takes_no_other_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("inbox.db");
    let store = Arc::new(inbox::sqlite::open(&file).await.unwrap());
    let scheduler = Scheduler::new(Arc::clone(&store));
    let commands = (0..=INNOCENT).map(|number| Eat { is_poison: number == INNOCENT / 2 });
    let commands = commands.map(|command| (command, ScheduleOptions::new()));
    scheduler.schedule_all(commands.collect::<Vec<_>>()).await.unwrap();
    // Someone starts it again whenever it ends, as a service manager would.
    let (mut worker, mut deaths, begun) = (start(&file, 0), 0, Instant::now());
    loop {
        let counts = store.counts().await.unwrap();
        if !counts.is_empty() && counts.iter().all(|count| count.state.is_terminal()) {
            break;
        }
        if worker.try_wait().unwrap().is_some() {
            deaths += 1;
            worker = start(&file, deaths);
        }
        assert!(begun.elapsed() < PATIENCE, "{deaths} deaths, {counts:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(worker.stdin.take());
    assert!(worker.wait().unwrap().success());
    // Twice, others were at work too. Then three more, quarantined: with others, or alone.
    assert_eq!(deaths, 5);
    let dead = store.list(DeliveryFilter::in_state(DeliveryState::Dead)).await.unwrap().deliveries;
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].attempts, dead[0].reason.as_deref()), (0, Some("lease-expired")));
    let crashes = store.show(dead[0].message_id).await.unwrap().unwrap().attempts;
    assert_eq!(crashes.len(), deaths as usize, "each is recorded");
    let completed = DeliveryFilter::in_state(DeliveryState::Completed);
    let completed = DeliveryFilter { limit: Some(1_000), ..completed };
    let completed = store.list(completed).await.unwrap().deliveries;
    assert_eq!(completed.len() as u64, INNOCENT);
    assert!(completed.iter().all(|one| one.attempts == 1), "the neighbours were charged nothing");
}
