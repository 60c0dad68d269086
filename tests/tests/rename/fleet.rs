use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inbox::postgres::tokio_postgres::Client;
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::store::{DeliveryState, Inspect as _};
use inbox::testing::ledger::{Entry, Ledger, stored};
use inbox::testing::postgres::PostgresDatabase;
use inbox::{Inbox, Timestamp};
use inbox_tests::phase::Phases;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::judge::Case;

pub(crate) const OLD: &str = env!("CARGO_BIN_EXE_rename_old");
pub(crate) const NEW: &str = env!("CARGO_BIN_EXE_rename_new");

/// Commands that each must have scheduled before a phase ends.
const ENOUGH: usize = 20;

/// Longer than anything here takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

/// The programs on one database, and a client that schedules in SQL.
pub(crate) struct Fleet {
    database: PostgresDatabase,
    directory: TempDir,
    phases: Phases,
    pub(crate) operator: Inbox<PostgresStore>,
    running: BTreeMap<String, Child>,
    /// The processes of each program that there have been.
    processes: BTreeMap<u32, &'static str>,
    sql: JoinHandle<()>,
}

impl Fleet {
    pub(crate) async fn open() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let phases = Phases::in_directory(directory.path());
        phases.set("1").unwrap();
        let options = PostgresOptions::new().connections(2).ensure_schema();
        let store = options.open(&database.url()).await.unwrap();
        let operator = Inbox::builder(store).scheduler_only().build().await.unwrap();
        let ledger = Ledger::open(directory.path().join("ledger")).unwrap();
        let client = database.connect().await.unwrap();
        let sql = tokio::spawn(schedule_in_sql(client, phases.clone(), ledger));
        let (running, processes) = (BTreeMap::new(), BTreeMap::new());
        Self { database, directory, phases, operator, running, processes, sql }
    }

    /// Starts a program, and waits until it has registered its route. Answers the numbers that it
    /// begins with, which are its name.
    pub(crate) fn start(&mut self, program: &'static str) -> u64 {
        let first = (self.processes.len() as u64 + 1) * 1_000_000;
        let mut child = Command::new(program)
            .args([&self.database.url(), self.directory.path().to_str().unwrap()])
            .arg(first.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "it did not start");
        self.processes.insert(child.id(), program);
        self.running.insert(first.to_string(), child);
        first
    }

    /// Lets a program end as it does by itself.
    pub(crate) fn stop(&mut self, name: u64) {
        let mut child = self.running.remove(&name.to_string()).unwrap();
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }

    pub(crate) fn kill(&mut self, name: u64) {
        let mut child = self.running.remove(&name.to_string()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Something is about to change: what is scheduled meanwhile may go either way.
    pub(crate) fn change(&self) {
        self.phases.set("1").unwrap();
    }

    /// Lets everyone schedule for a while, in this phase.
    pub(crate) async fn go_on_as(&mut self, phase: u64) {
        self.phases.set(&phase.to_string()).unwrap();
        let noted = |who: &str| {
            let notes = self.phases.notes();
            notes.iter().filter(|note| note.phase == phase && note.who == who).count()
        };
        let names: BTreeSet<_> = self.running.keys().cloned().chain(["sql".to_owned()]).collect();
        let before: Vec<_> = names.iter().map(|name| (name, noted(name))).collect();
        let begun = Instant::now();
        while !before.iter().all(|(name, before)| noted(name) >= before + ENOUGH) {
            let ended = self.running.values_mut().find_map(|child| child.try_wait().unwrap());
            assert_eq!(ended, None, "a program left by itself");
            assert!(begun.elapsed() < PATIENCE, "phase {phase} does not go on");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Nothing more is scheduled; when all of it is done, the programs end.
    pub(crate) async fn finish(mut self) -> Case {
        self.phases.set("over").unwrap();
        (&mut self.sql).await.unwrap();
        let (store, begun) = (self.operator.store(), Instant::now());
        loop {
            let counts = store.counts().await.unwrap();
            if counts.iter().all(|count| count.state == DeliveryState::Completed) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{counts:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let stored = stored(&**store).await.unwrap();
        for name in self.running.keys().map(|name| name.parse().unwrap()).collect::<Vec<_>>() {
            self.stop(name);
        }
        let hosts = self.operator.hosts().await.unwrap();
        assert!(hosts.len() <= 2, "only those that were killed did not leave: {hosts:?}");
        let history = Ledger::read(self.directory.path().join("ledger")).unwrap();
        let processes = std::mem::take(&mut self.processes);
        Case { history, stored, notes: self.phases.notes(), processes }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.sql.abort();
        for child in self.running.values_mut() {
            // Gone already, unless the test failed.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A client in another language.
async fn schedule_in_sql(client: Client, phases: Phases, ledger: Ledger) {
    let schedule = "SELECT message_id::text, (extract(epoch FROM accepted_at) * 1000000)::bigint
                    FROM inbox.schedule('rename.pay', 1, jsonb_build_object('number', $1::bigint))";
    for number in 0_i64.. {
        let before = phases.now().unwrap();
        if before.is_over() {
            return;
        }
        let row = client.query_one(schedule, &[&number]).await.unwrap();
        let id: String = row.get(0);
        ledger.append(&Entry::Accepted {
            message_id: id.parse().unwrap(),
            contract: "rename.pay".to_owned(),
            ordering_key: None,
            at: Timestamp::from_micros(row.get(1)),
        });
        phases.note_since(&before, &id, "sql").unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
