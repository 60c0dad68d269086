//! Several processes on one store, killed and started again: nothing is lost, nothing is doubled.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use inbox::postgres::PostgresOptions;
use inbox::store::{DeliveryCount, Inspect};
use inbox::testing::ledger::{Expectations, Ledger, stored};
use inbox::testing::postgres::PostgresDatabase;

const PROCESSES: u64 = 4;
const MESSAGES: u64 = 20_000;
const KILLS: usize = 16;
/// Commands that each process schedules although its neighbour does too.
const SHARED: u64 = 250;

struct Fleet {
    store: String,
    ledger: PathBuf,
    workers: Vec<Child>,
}

impl Fleet {
    fn start(store: String, directory: &Path) -> Self {
        let ledger = directory.join("ledger");
        let mut fleet = Self { store, ledger, workers: Vec::new() };
        for number in 0..PROCESSES {
            let worker = fleet.spawn(number);
            fleet.workers.push(worker);
        }
        fleet
    }

    fn spawn(&self, number: u64) -> Child {
        let share = MESSAGES / PROCESSES;
        let count = (share + SHARED).min(MESSAGES - number * share);
        Command::new(env!("CARGO_BIN_EXE_ledger_worker"))
            .arg(&self.store)
            .arg(&self.ledger)
            .args([(number * share).to_string(), count.to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Kills one without warning and starts it again.
    fn kill(&mut self, at: usize) {
        self.workers[at].kill().unwrap();
        self.workers[at].wait().unwrap();
        self.workers[at] = self.spawn(at as u64);
    }

    /// Bytes of the ledger: how far the fleet got.
    fn progress(&self) -> u64 {
        std::fs::metadata(&self.ledger).map_or(0, |file| file.len())
    }

    fn all_alive(&mut self) -> bool {
        self.workers.iter_mut().all(|worker| worker.try_wait().unwrap().is_none())
    }

    /// Ends their input, and waits for all to leave.
    fn finish(&mut self) {
        for worker in &mut self.workers {
            drop(worker.stdin.take());
        }
        for worker in &mut self.workers {
            assert!(worker.wait().unwrap().success());
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // Gone already, unless the test failed.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

fn open(counts: &[DeliveryCount]) -> u64 {
    counts.iter().filter(|count| !count.state.is_terminal()).map(|count| count.count).sum()
}

fn all(counts: &[DeliveryCount]) -> u64 {
    counts.iter().map(|count| count.count).sum()
}

#[tokio::test]
async fn four_processes_on_one_file_with_kills_lose_and_double_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("inbox.db");
    let store = inbox::sqlite::open(&file).await.unwrap();
    rough_times(&store, file.to_string_lossy().into_owned(), directory.path()).await;
}

#[tokio::test]
async fn four_processes_on_one_server_with_kills_lose_and_double_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let database = PostgresDatabase::create().await.unwrap();
    let options = PostgresOptions::new().connections(1).ensure_schema();
    let store = options.open_config(database.config().clone()).await.unwrap();
    rough_times(&store, database.url(), directory.path()).await;
}

async fn rough_times(store: &dyn Inspect, address: String, directory: &Path) {
    let mut fleet = Fleet::start(address, directory);
    // By progress and not by time, so that every kill meets a busy process.
    let mut next_kill = 0;
    let mut kills = 0;
    loop {
        assert!(fleet.all_alive(), "a worker left by itself");
        let progress = fleet.progress();
        if kills < KILLS && progress >= next_kill {
            fleet.kill(kills % fleet.workers.len());
            kills += 1;
            next_kill = progress + 200_000;
        }
        let counts = store.counts().await.unwrap();
        if kills == KILLS && all(&counts) == MESSAGES && open(&counts) == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fleet.finish();
    let expectations = Expectations::new().handler_keys("work", ["work"]).settled();
    let stored = stored(store).await.unwrap();
    let summary = Ledger::read(&fleet.ledger).unwrap().check(&stored, &expectations).unwrap();
    println!("{summary}");
    // Every hundredth never works; all others do, whatever happened to their processes.
    assert_eq!(summary.dead as u64, MESSAGES / 100);
    assert_eq!(summary.completed as u64, MESSAGES - MESSAGES / 100);
}
