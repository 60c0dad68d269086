//! One process of several on one store: schedules its share of commands while its host works off
//! whatever is due, until its input ends. Its runs are noted in a ledger. Killed and started again, it
//! goes on.
//!
//! `ledger_worker STORE LEDGER FIRST COUNT`, where STORE is a file or a PostgreSQL address. A server may
//! go away for a while: what it met is noted in `LEDGER.errors`.

use std::io::Read as _;
use std::time::Duration;

use inbox::postgres::PostgresOptions;
use inbox::sqlite::SqliteOptions;
use inbox::store::Store;
use inbox::testing::ledger::Ledger;
use inbox::{Context, Inbox, ScheduleOptions, handler, inbox_contract};
use inbox_tests::BoxError;
use inbox_tests::held_back::HeldBack;
use inbox_tests::outage::Outages;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "work", version = 1, idempotency_key = "{number}")]
#[derive(Serialize, Deserialize)]
struct Work {
    number: u64,
}

// As many attempts as kills, and leases that a busy machine loses, could take: only what never works is dead.
#[handler(key = "work", max_attempts = 20, max_crashes = 100, retry(initial = "5ms", max = "50ms"))]
async fn work(command: Work, context: Context) -> Result<(), String> {
    if command.number % 10 == 1 {
        // Long enough for a kill to meet it.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    match command.number {
        number if number % 100 == 7 => Err("never works".to_owned()),
        number if number % 50 == 3 && context.attempt() == 1 => panic!("works the second time"),
        number if number % 20 == 9 && context.attempt() == 1 => Err("not yet".to_owned()),
        _ => Ok(()),
    }
}

/// Commands that are scheduled together.
const CHUNK: u64 = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // A panic is part of the test; its trace is not.
    std::panic::set_hook(Box::new(|_| {}));
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("ledger_worker STORE LEDGER FIRST COUNT");
    let (store, ledger) = (next()?, Ledger::open(next()?)?);
    let (first, count): (u64, u64) = (next()?.parse()?, next()?.parse()?);
    if store.starts_with("postgres://") {
        let outages = Outages::noted_in(ledger.path().with_extension("errors"));
        let options = PostgresOptions::new().connections(4).ensure_schema();
        let store = outages.outlast(async || Ok(options.clone().open(&store).await?)).await?;
        return work_on(store, &ledger, &outages, first..first + count).await;
    }
    // Patient: the processes are many and the test is not about waiting.
    let options = SqliteOptions::new()
        .busy_timeout(Duration::from_mins(1))
        .call_timeout(Duration::from_mins(2));
    work_on(options.open(store).await?, &ledger, &Outages::none(), first..first + count).await
}

async fn work_on<S: Store + Clone>(
    store: S,
    ledger: &Ledger,
    outages: &Outages,
    mut rest: std::ops::Range<u64>,
) -> Result<(), BoxError> {
    let inbox = async || {
        Inbox::builder(store.clone())
            .lease_duration(Duration::from_secs(1))
            .layer(ledger.layer())
            .build()
            .await
    };
    let inbox = outages.outlast(inbox).await?;
    let host = inbox.start()?;
    let over = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let held_back = HeldBack::beside(ledger.path());
    while !over.is_finished() {
        let is_last = rest.end - rest.start <= CHUNK;
        let count = if is_last && !held_back.is_released() { 0 } else { CHUNK };
        let chunk: Vec<_> = rest.by_ref().take(count.try_into()?).collect();
        // Without an answer nobody knows; with the same keys it is safe to say it all again.
        let schedule = async || {
            let work = |number: &u64| (Work { number: *number }, ScheduleOptions::new());
            Ok(inbox.scheduler().schedule_all(chunk.iter().map(work)).await?)
        };
        for receipt in outages.outlast(schedule).await? {
            ledger.accepted(&receipt?, None);
        }
        // The host has a turn, and all the time once everything is scheduled.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    host.shutdown(Duration::from_secs(10)).await;
    Ok(())
}
