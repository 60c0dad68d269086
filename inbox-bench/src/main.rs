//! cargo xtask bench --quick
//! cargo xtask bench --recovery
//!
//! Schedules, drains and picks up on a durable PostgreSQL of its own, and prints medians with their
//! ratio to raw SQL on the same tables; a little on SQLite, too. Machines are noisy: read the ratios.

mod arguments;
mod beside;
mod contract;
mod drain;
mod effect;
mod host;
mod lane;
mod limit;
mod measure;
mod ours;
mod pickup;
mod pinned;
mod place;
mod raw;
mod recovery;
mod report;
mod schedule;
mod side;
mod sqlite;
mod warm;
mod work;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use arguments::Arguments;
use place::Place;
use report::Report;

/// Rounds of what is short; the median counts.
const ROUNDS: usize = 5;

/// Rounds of what is long.
const LONG_ROUNDS: usize = 3;

/// No round begins that would probably end later: a slow machine measures less often, not for longer.
const LIMIT: Duration = Duration::from_secs(150);

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    // At once: a file that cannot be written should not be found out after minutes.
    let json = arguments.create_json()?;
    let place = Place::start().await?;
    if arguments.is_recovery() {
        return recovery::run(&place).await;
    }
    let mut report = Report::default();
    let began = Instant::now();
    for round in 0..ROUNDS {
        let round_began = Instant::now();
        let (place, report) = (&place, &mut report);
        let has = |part: &str| arguments.has(part);
        if has("schedule") {
            schedule::one_by_one(place, round, report).await?;
            schedule::by_sixteen(place, round, report).await?;
            schedule::by_thousand(place, round, report).await?;
        }
        if has("drain") {
            drain::plain(place, round, report).await?;
        }
        if has("host") {
            host::drain(place, round, report).await?;
        }
        if round < LONG_ROUNDS {
            long(place, round, report, &arguments).await?;
        }
        if began.elapsed() + round_began.elapsed() > LIMIT {
            break;
        }
    }
    print!("{report}");
    if let Some(json) = json {
        serde_json::to_writer_pretty(json, &report.json())?;
    }
    Ok(())
}

/// A round of what takes long.
async fn long(
    place: &Place,
    round: usize,
    report: &mut Report,
    arguments: &Arguments,
) -> Result<()> {
    let has = |part: &str| arguments.has(part);
    if has("drain") {
        drain::while_a_transaction_is_open(place, round, report).await?;
    }
    if has("lanes") {
        lane::drain(place, round, report).await?;
    }
    if has("limits") {
        limit::drain(place, report).await?;
    }
    if has("effects") {
        effect::in_a_transaction(place, round, report).await?;
    }
    if has("pickup") {
        pickup::at_a_steady_pace(place, round, report).await?;
    }
    if has("beside") {
        beside::a_deep_lane(place, report).await?;
    }
    if has("pinned") {
        pinned::drain(place, report).await?;
    }
    if has("sqlite") {
        sqlite::drain(report).await?;
    }
    Ok(())
}
