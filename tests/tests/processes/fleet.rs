use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inbox::store::{DeliveryCount, Inspect};
use inbox::testing::ledger::{Expectations, History, Ledger, Summary, stored};
use inbox_tests::held_back::HeldBack;

/// Commands that each process schedules although its neighbour does too.
const SHARED: u64 = 250;

/// A fleet that did nothing for so long will do nothing more, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

/// Processes that schedule and work off messages on one store.
pub(crate) struct Fleet {
    messages: u64,
    ledger: PathBuf,
    /// What starts the process with a number.
    command: Box<dyn Fn(u64) -> Command>,
    workers: Vec<Child>,
    /// Baits that were taken already.
    baits: usize,
    /// How far it got, and since when it is there.
    last: (u64, Instant),
}

impl Fleet {
    /// Of messages that have nothing to do with each other, each process schedules a share.
    pub(crate) fn start(store: String, directory: &Path, processes: u64, messages: u64) -> Self {
        Self::of(env!("CARGO_BIN_EXE_ledger_worker"), store, directory, processes, messages)
    }

    /// The same with another program, which takes the same arguments.
    pub(crate) fn of(
        program: &'static str,
        store: String,
        directory: &Path,
        processes: u64,
        messages: u64,
    ) -> Self {
        let ledger = directory.join("ledger");
        let share = messages / processes;
        let command = move |ledger: &Path, number: u64| {
            let count = (share + SHARED).min(messages - number * share);
            let mut command = Command::new(program);
            command.arg(&store).arg(ledger);
            command.args([(number * share).to_string(), count.to_string()]);
            command
        };
        Self::running(processes, messages, ledger, command)
    }

    /// Of messages that share `what`, each process schedules all those of some keys.
    pub(crate) fn sharing(
        what: &'static str,
        store: String,
        directory: &Path,
        processes: u64,
        messages: u64,
    ) -> Self {
        let ledger = directory.join("ledger");
        let command = move |ledger: &Path, number: u64| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_sharing_worker"));
            command.arg(&store).arg(ledger).arg(what);
            command.args([number, processes, messages].map(|number| number.to_string()));
            command
        };
        Self::running(processes, messages, ledger, command)
    }

    fn running(
        processes: u64,
        messages: u64,
        ledger: PathBuf,
        command: impl Fn(&Path, u64) -> Command + 'static,
    ) -> Self {
        let (workers, last, path) = (Vec::new(), (0, Instant::now()), ledger.clone());
        let command = Box::new(move |number| command(&path, number));
        let mut fleet = Self { messages, ledger, command, workers, baits: 0, last };
        for number in 0..processes {
            let worker = fleet.spawn(number);
            fleet.workers.push(worker);
        }
        fleet
    }

    fn spawn(&self, number: u64) -> Child {
        (self.command)(number).stdin(Stdio::piped()).spawn().unwrap()
    }

    /// Kills the next one in turn without warning, and starts it again.
    pub(crate) fn kill(&mut self, turn: usize) {
        let at = turn % self.workers.len();
        self.workers[at].kill().unwrap();
        self.workers[at].wait().unwrap();
        self.workers[at] = self.spawn(at as u64);
    }

    /// Kills every process that said that it is in the middle of something, and starts it again.
    pub(crate) fn take_baits(&mut self) {
        let baits = std::fs::read_to_string(self.ledger.with_extension("bait")).unwrap_or_default();
        for process in baits.lines().skip(self.baits) {
            self.kill(process.parse().unwrap());
            self.baits += 1;
        }
    }

    /// Stops the next one in turn for longer than its leases hold, and lets it go on.
    pub(crate) async fn freeze(&self, turn: usize) {
        let process = self.workers[turn % self.workers.len()].id().to_string();
        for (signal, after) in [("-STOP", Duration::from_millis(1_500)), ("-CONT", Duration::ZERO)]
        {
            assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
            tokio::time::sleep(after).await;
        }
    }

    /// Bytes of the ledger: how far the fleet got.
    pub(crate) fn progress(&self) -> u64 {
        std::fs::metadata(&self.ledger).map_or(0, |file| file.len())
    }

    pub(crate) fn assert_alive(&mut self) {
        let is_alive = |worker: &mut Child| worker.try_wait().unwrap().is_none();
        assert!(self.workers.iter_mut().all(is_alive), "a worker left by itself");
    }

    /// Lets it schedule what it held back, so that it can be done at last.
    pub(crate) fn release(&self) {
        HeldBack::beside(&self.ledger).release().unwrap();
    }

    /// Whether nothing has happened for a long time.
    pub(crate) fn stands_still(&mut self) -> bool {
        let progress = self.progress();
        if progress != self.last.0 {
            self.last = (progress, Instant::now());
        }
        self.last.1.elapsed() > PATIENCE
    }

    /// Whether all was accepted and all is settled, or nothing happens any more: then the ledger will
    /// say what is missing.
    pub(crate) fn is_over(&mut self, counts: &[DeliveryCount]) -> bool {
        self.stands_still() || self.is_done(counts)
    }

    /// Whether all was accepted, and all is settled.
    pub(crate) fn is_done(&self, counts: &[DeliveryCount]) -> bool {
        let all: u64 = counts.iter().map(|count| count.count).sum();
        all == self.messages && counts.iter().all(|count| count.state.is_terminal())
    }

    /// Ends their input, waits for all to leave, and reads what they did.
    pub(crate) fn leave(&mut self) -> History {
        for worker in &mut self.workers {
            drop(worker.stdin.take());
        }
        for worker in &mut self.workers {
            assert!(worker.wait().unwrap().success());
        }
        Ledger::read(&self.ledger).unwrap()
    }

    /// Lets all leave, and the ledger judge.
    pub(crate) async fn finish(self, store: &dyn Inspect) {
        let messages = self.messages;
        let summary = self.finish_some(store).await;
        // Every hundredth never works; all others do, whatever happened to their processes.
        assert_eq!(summary.dead as u64, messages / 100);
        assert_eq!(summary.completed as u64, messages - messages / 100);
    }

    /// The same, whatever was completed.
    pub(crate) async fn finish_some(mut self, store: &dyn Inspect) -> Summary {
        let history = self.leave();
        let expectations = Expectations::new().handler_keys("work", ["work"]).settled();
        let stored = stored(store).await.unwrap();
        let summary = history.check(&stored, &expectations).unwrap();
        println!("{summary}");
        summary
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
