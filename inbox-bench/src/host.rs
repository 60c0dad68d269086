use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use inbox::{Inbox, State, handler};
use tokio::sync::Notify;

use crate::contract::Command;
use crate::drain::Drain;
use crate::measure::{Measure, per_second};
use crate::place::Place;
use crate::report::Report;
use crate::side::Side;
use crate::warm;

const COUNT: usize = 100_000;

/// Counts what the handler is called for.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Inner>);

#[derive(Default)]
struct Inner {
    count: AtomicUsize,
    enough: Notify,
}

#[handler(key = "bench")]
async fn nothing(_: Command, State(calls): State<Calls>) {
    if calls.0.count.fetch_add(1, Ordering::Relaxed) + 1 == COUNT {
        calls.0.enough.notify_one();
    }
}

/// A host with nothing said about it, on a handler that does nothing, beside two workers in raw SQL.
pub(crate) async fn drain(place: &Place, round: usize, report: &mut Report) -> Result<()> {
    const MEASURE: Measure = Measure::rate("drain, a host as it comes");
    for side in place.sides(round) {
        place.clear().await?;
        let took = match &**side {
            Side::Inbox(ours) => {
                warm::work(side).await?;
                let before = place.done().await?;
                place.fill(COUNT).await?;
                let calls = Calls::default();
                let inbox = Inbox::builder(ours.store().clone()).state(calls.clone());
                let inbox = inbox.build().await?;
                let began = Instant::now();
                let host = inbox.start()?;
                calls.0.enough.notified().await;
                host.shutdown(Duration::from_secs(30)).await;
                let took = began.elapsed();
                let done = place.done().await? - before;
                anyhow::ensure!(done == i64::try_from(COUNT)?, "{done} of {COUNT} are done");
                took
            }
            Side::Raw(_) => Drain::of(place, side, COUNT).await?.until(COUNT),
        };
        report.add(MEASURE, side, per_second(COUNT, took));
    }
    Ok(())
}
