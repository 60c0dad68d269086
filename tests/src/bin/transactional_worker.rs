//! One process of several on one server: schedules its share of commands while its host works off
//! whatever is due, until its input ends. Its handlers write effects in their transactions, and schedule
//! others there. Its runs are noted in a ledger. Killed and started again, it goes on.
//!
//! `transactional_worker ADDRESS LEDGER FIRST COUNT`. The server may go away for a while: what it met is
//! noted in `LEDGER.errors`.

use std::io::Read as _;
use std::time::Duration;

use inbox::postgres::{PostgresOptions, Transaction};
use inbox::testing::ledger::Ledger;
use inbox::{Context, Inbox, ScheduleOptions, handler, inbox_contract};
use inbox_tests::BoxError;
use inbox_tests::held_back::HeldBack;
use inbox_tests::outage::Outages;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "work", version = 1, idempotency_key = "{number}")]
#[derive(Serialize, Deserialize)]
struct Work {
    number: i64,
}

// Without a key: whatever is scheduled twice is there twice.
#[inbox_contract(name = "echo", version = 1)]
#[derive(Serialize, Deserialize)]
struct Echo {
    number: i64,
}

// As many attempts as kills, cuts, and leases that a busy machine loses could take: only what never works is
// dead.
#[handler(key = "work", max_attempts = 30, max_crashes = 100, retry(initial = "5ms", max = "50ms"))]
async fn work(command: Work, tx: &mut Transaction, context: Context) -> Result<(), BoxError> {
    let number = command.number;
    tx.execute("INSERT INTO effect (number) VALUES ($1)", &[&number]).await?;
    if number % 10 == 1 {
        // Long enough for a kill to meet it.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    match number {
        number if number % 100 == 7 => return Err("never works".into()),
        number if number % 50 == 3 && context.attempt() == 1 => panic!("works the second time"),
        number if number % 20 == 9 && context.attempt() == 1 => return Err("not yet".into()),
        _ => {}
    }
    context.scheduler().within(tx).schedule(Echo { number }, ScheduleOptions::new()).await?;
    Ok(())
}

// Given up by nobody: what is not there in the end was lost.
#[handler(
    key = "echo",
    max_attempts = 1000,
    max_crashes = 100,
    retry(initial = "20ms", max = "100ms")
)]
async fn echo(command: Echo, tx: &mut Transaction) -> Result<(), BoxError> {
    tx.execute("INSERT INTO echoed (number) VALUES ($1)", &[&command.number]).await?;
    Ok(())
}

/// Commands that are scheduled together.
const CHUNK: usize = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // A panic is part of the test; its trace is not.
    std::panic::set_hook(Box::new(|_| {}));
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("transactional_worker ADDRESS LEDGER FIRST COUNT");
    let (address, ledger) = (next()?, Ledger::open(next()?)?);
    let (first, count): (i64, i64) = (next()?.parse()?, next()?.parse()?);
    let outages = Outages::noted_in(ledger.path().with_extension("errors"));
    let options = PostgresOptions::new().connections(4).ensure_schema();
    let store = outages.outlast(async || Ok(options.clone().open(&address).await?)).await?;
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
    let mut rest = first..first + count;
    let held_back = HeldBack::beside(ledger.path());
    while !over.is_finished() {
        let is_last = rest.end - rest.start <= CHUNK.try_into()?;
        let count = if is_last && !held_back.is_released() { 0 } else { CHUNK };
        let chunk: Vec<_> = rest.by_ref().take(count).collect();
        // Without an answer nobody knows; with the same keys it is safe to say it all again.
        let schedule = async || {
            let work = |number: &i64| (Work { number: *number }, ScheduleOptions::new());
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
