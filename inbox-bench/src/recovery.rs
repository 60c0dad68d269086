//! cargo xtask bench --recovery
//!
//! A worker vanishes with deliveries that it has leased: how long until a host that lives has run them all,
//! from the moment at which the leases expire. Beside it, how long the same host takes for the same
//! deliveries when nobody held them.

use std::time::{Duration, Instant};

use anyhow::Result;
use inbox::postgres::PostgresStore;
use inbox::{Inbox, ScheduleOptions, State, handler};

use crate::contract::{HANDLER, Held};
use crate::host::Calls;
use crate::measure::milliseconds;
use crate::ours::Ours;
use crate::place::Place;

const KEY: &str = "bench.held";

/// Deliveries that the worker holds.
const COUNT: usize = 2_000;

/// The vanished worker's leases. The living host has worked for longer than its renewal interval by then.
const LEASE: Duration = Duration::from_secs(4);

/// The living host's leases.
const LIVING: Duration = Duration::from_secs(3);

/// What is ready before the deliveries come back, for another handler of the same host.
const BACKLOG: usize = 1_000_000;

/// Counts what was recovered, and not the backlog.
#[derive(Clone)]
pub(crate) struct Recovered(Calls);

impl Recovered {
    /// For hosts on which nothing is recovered.
    pub(crate) fn none() -> Self {
        Self(Calls::counted(usize::MAX))
    }
}

#[handler(key = "bench.held")]
async fn held(command: Held, State(Recovered(calls)): State<Recovered>) {
    tokio::time::sleep(Duration::from_millis(command.milliseconds)).await;
    calls.note(0);
}

/// Prints all of it.
pub(crate) async fn run(place: &Place) -> Result<()> {
    let ours = place.ours()?;
    println!("{:<44}{:>14}{:>14}{:>8}", "", "recovered in", "never held", "ratio");
    for (milliseconds, backlog) in [(0, 0), (50, 0), (0, BACKLOG), (50, BACKLOG)] {
        let fresh = measure(place, ours, milliseconds, backlog, Start::Ready).await?;
        let recovered = measure(place, ours, milliseconds, backlog, Start::Held).await?;
        let name = format!("{COUNT} of {milliseconds} ms, {backlog} of others ready");
        let ratio = recovered / fresh;
        println!("{name:<44}{recovered:>11.0} ms{fresh:>11.0} ms{ratio:>8.2}");
    }
    Ok(())
}

/// Where the deliveries are when the host starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Ready,
    Held,
}

async fn measure(
    place: &Place,
    ours: &Ours,
    milliseconds_each: u64,
    backlog: usize,
    start: Start,
) -> Result<f64> {
    place.clear().await?;
    let calls = Calls::counted(COUNT);
    let inbox = build(ours, &calls).await?;
    place.fill(backlog).await?;
    let commands = (0..COUNT)
        .map(|_| (Held { milliseconds: milliseconds_each }, ScheduleOptions::new()))
        .collect::<Vec<_>>();
    for receipt in inbox.scheduler().schedule_all(commands).await? {
        receipt?;
    }
    let from = match start {
        Start::Ready => Instant::now(),
        Start::Held => ours.vanish(KEY, COUNT, LEASE).await?,
    };
    let host = inbox.start()?;
    calls.are_enough().await;
    let took = from.elapsed();
    // Most of the backlog is left: nobody waits for it.
    host.shutdown(Duration::from_secs(30)).await;
    Ok(milliseconds(took))
}

async fn build(ours: &Ours, calls: &Calls) -> Result<Inbox<PostgresStore>> {
    let builder = Inbox::builder(ours.store().clone()).only_handlers([HANDLER, KEY]);
    let builder = builder.state(Recovered(calls.clone())).state(Calls::counted(usize::MAX));
    Ok(builder.lease_duration(LIVING).build().await?)
}
