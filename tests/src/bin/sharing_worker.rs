//! One process of several on one store: schedules commands that share ordering keys or limits while its
//! host works off whatever is due, until its input ends. Its runs are noted in a ledger. Killed and
//! started again, it goes on.
//!
//! `sharing_worker STORE LEDGER KIND PROCESS PROCESSES COUNT`, where STORE is a PostgreSQL address and KIND
//! is `lanes` or `limits`. All commands of one key are scheduled by one process, one after the other.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::testing::ledger::Ledger;
use inbox::{Context, Contract, Inbox, ScheduleOptions, State, handler, inbox_contract};
use inbox_tests::BoxError;
use inbox_tests::held_back::HeldBack;
use inbox_tests::outage::Outages;
use serde::{Deserialize, Serialize};

/// Every fifth is of the busy lane `0`, all others are of 999.
#[inbox_contract(name = "step", version = 1, idempotency_key = "{number}", ordering_key = "{lane}")]
#[derive(Serialize, Deserialize)]
struct Step {
    number: u64,
    lane: u64,
}

#[handler(key = "step", max_attempts = 50, max_crashes = 100, retry(initial = "5ms"))]
async fn step(command: Step, context: Context, bait: State<Bait>) -> Result<(), String> {
    now_and_then(command.number, &context, &bait).await
}

/// Of which there is one at a time, in the whole fleet.
#[inbox_contract(name = "single", version = 1, idempotency_key = "{number}")]
#[derive(Serialize, Deserialize)]
struct Single {
    number: u64,
}

#[handler(
    key = "single",
    max_attempts = 50,
    max_crashes = 100,
    retry(initial = "5ms"),
    concurrency(fleet = 1)
)]
async fn single(command: Single, context: Context, bait: State<Bait>) -> Result<(), String> {
    now_and_then(command.number, &context, &bait).await
}

/// Of which there is one at a time for each merchant.
#[inbox_contract(
    name = "payout",
    version = 1,
    idempotency_key = "{number}",
    concurrency_key = "{merchant}"
)]
#[derive(Serialize, Deserialize)]
struct Payout {
    number: u64,
    merchant: u64,
}

#[handler(
    key = "payout",
    max_attempts = 50,
    max_crashes = 100,
    retry(initial = "5ms"),
    concurrency(per_key = 1)
)]
async fn payout(command: Payout, context: Context, bait: State<Bait>) -> Result<(), String> {
    now_and_then(command.number, &context, &bait).await
}

/// Works, but not always the first time.
async fn now_and_then(number: u64, context: &Context, bait: &Bait) -> Result<(), String> {
    match number {
        number if BAITS.contains(&number) => bait.wait_for_a_kill(number).await,
        number if number % 500 == 250 && context.attempt() == 1 => panic!("works the second time"),
        number if number % 200 == 55 && context.attempt() <= 2 => Err("not yet".to_owned()),
        _ => Ok(()),
    }
}

/// Some of the busy lane and of the single ones, some of the others.
const BAITS: [u64; 6] = [1000, 3003, 5000, 7003, 9000, 11003];

/// Says that this process has something begun which only a kill ends.
#[derive(Clone)]
struct Bait {
    file: Arc<PathBuf>,
    process: u64,
}

impl Bait {
    async fn wait_for_a_kill(&self, number: u64) -> Result<(), String> {
        // Once: a kill is no attempt, so the next run has the same number.
        let once = self.file.with_extension(number.to_string());
        if OpenOptions::new().create_new(true).write(true).open(once).is_err() {
            return Ok(());
        }
        let file = OpenOptions::new().create(true).append(true).open(&*self.file);
        // At once: others write there too.
        let line = format!("{}\n", self.process);
        let said = file.and_then(|mut file| file.write_all(line.as_bytes()));
        said.map_err(|error| error.to_string())?;
        std::future::pending().await
    }
}

/// Commands that are scheduled together.
const CHUNK: usize = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // A panic is part of the test; its trace is not.
    std::panic::set_hook(Box::new(|_| {}));
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("sharing_worker STORE LEDGER KIND PROCESS OF COUNT");
    let (store, ledger, kind) = (next()?, Ledger::open(next()?)?, next()?);
    let (process, processes): (u64, u64) = (next()?.parse()?, next()?.parse()?);
    let all = 0..next()?.parse()?;
    let outages = Outages::noted_in(ledger.path().with_extension("errors"));
    let options = PostgresOptions::new().connections(4).ensure_schema();
    let store = outages.outlast(async || Ok(options.clone().open(&store).await?)).await?;
    let bait = Bait { file: Arc::new(ledger.path().with_extension("bait")), process };
    let keys: &[&str] = if kind == "lanes" { &["step"] } else { &["single", "payout"] };
    let inbox = async || {
        Inbox::builder(store.clone())
            .lease_duration(Duration::from_secs(1))
            .only_handlers(keys.iter().copied())
            .state(bait.clone())
            .layer(ledger.layer())
            .build()
            .await
    };
    let inbox = outages.outlast(inbox).await?;
    let host = inbox.start()?;
    let over = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let held_back = HeldBack::beside(ledger.path());
    let producer = Producer { inbox, ledger, outages, over };
    let mine = |key: u64| key % processes == process;
    if kind == "lanes" {
        let lane = |number: u64| if number.is_multiple_of(5) { 0 } else { 1 + number % 999 };
        let steps = all.map(|number| (number, lane(number))).filter(|(_, lane)| mine(*lane));
        let step = |(number, lane)| Step { number, lane };
        producer.schedule(steps, step, Some(&held_back)).await?;
    } else {
        // Every eighth is one of which there is one at a time.
        let (singles, payouts): (Vec<u64>, Vec<u64>) = all.partition(|number| number % 8 == 0);
        let singles = singles.into_iter().filter(|number| mine(number / 8));
        producer.schedule(singles, |number| Single { number }, None).await?;
        let payouts = payouts.into_iter().map(|number| (number, number % 50));
        let payouts = payouts.filter(|(_, merchant)| mine(*merchant));
        let payout = |(number, merchant)| Payout { number, merchant };
        producer.schedule(payouts, payout, Some(&held_back)).await?;
    }
    while !producer.over.is_finished() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    host.shutdown(Duration::from_secs(10)).await;
    Ok(())
}

struct Producer {
    inbox: Inbox<PostgresStore>,
    ledger: Ledger,
    outages: Outages,
    /// Ends with the input of this process, as it does when whoever started it is gone.
    over: JoinHandle<std::io::Result<usize>>,
}

impl Producer {
    /// Schedules one chunk after the other, the last of them when it is not held back any more.
    async fn schedule<T: Copy + Send + Sync, C: Contract>(
        &self,
        what: impl Iterator<Item = T>,
        command: impl Fn(T) -> C + Sync,
        held_back: Option<&HeldBack>,
    ) -> Result<(), BoxError> {
        let mut rest = what.peekable();
        while rest.peek().is_some() {
            let chunk: Vec<_> = rest.by_ref().take(CHUNK).collect();
            let is_last = rest.peek().is_none();
            while is_last
                && held_back.is_some_and(|held_back| !held_back.is_released())
                && !self.over.is_finished()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            // Without an answer nobody knows; with the same keys it is safe to say it all again.
            let schedule = async || {
                let commands = chunk.iter().map(|one| (command(*one), ScheduleOptions::new()));
                Ok(self.inbox.scheduler().schedule_all(commands).await?)
            };
            for receipt in self.outages.outlast(schedule).await? {
                self.ledger.accepted(&receipt?, None);
            }
            // The host has a turn.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}
