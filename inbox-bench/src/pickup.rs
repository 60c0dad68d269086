use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::{interval, sleep};

use crate::contract::{Command, HANDLER};
use crate::host::{self, Calls};
use crate::measure::{Measure, milliseconds};
use crate::place::Place;
use crate::report::Report;
use crate::side::{Side, TASKS};
use crate::warm;

/// Three seconds of them.
pub(crate) const COUNT: usize = 150;

/// Fifty in a second.
pub(crate) const PACE: Duration = Duration::from_millis(20);

/// Nobody tells the raw worker that there is work: it looks, and pauses after finding nothing.
const PAUSE: Duration = Duration::from_millis(1);

/// The time from the call that schedules a command to a handler that is called for it; of raw SQL, to a
/// worker that holds it.
pub(crate) async fn at_a_steady_pace(
    place: &Place,
    round: usize,
    report: &mut Report,
) -> Result<()> {
    const HALF: Measure = Measure::time("pickup, p50");
    const MOST: Measure = Measure::time("pickup, p99");
    for side in place.sides(round) {
        place.clear().await?;
        warm::schedule(side).await?;
        warm::work(side).await?;
        let (called, picked_up) = match &**side {
            Side::Inbox(ours) => {
                let calls = Calls::timed(COUNT);
                let inbox = host::build(ours.store(), &[HANDLER], &calls).await?;
                let running = inbox.start()?;
                let called = schedule_all(side).await?;
                calls.are_enough().await;
                host::end(running).await?;
                (called, calls.times())
            }
            Side::Raw(_) => {
                let worker = tokio::spawn(lease_all(Arc::clone(side)));
                (schedule_all(side).await?, worker.await??)
            }
        };
        let (half, most) = quantiles(&called, &picked_up);
        report.add(HALF, side, half);
        report.add(MOST, side, most);
    }
    Ok(())
}

/// How long half of the commands took to be picked up, and nearly all, in milliseconds.
pub(crate) fn quantiles(called: &[Instant], picked_up: &[(usize, Instant)]) -> (f64, f64) {
    let took = picked_up.iter().map(|(number, at)| at.duration_since(called[*number]));
    let mut took: Vec<_> = took.collect();
    took.sort_unstable();
    let (half, most) = (took[took.len() * 50 / 100], took[took.len() * 99 / 100]);
    (milliseconds(half), milliseconds(most))
}

/// Calls at the pace whatever the answers take, and answers when each call was made.
async fn schedule_all(side: &Arc<Side>) -> Result<Vec<Instant>> {
    let mut pace = interval(PACE);
    let (mut called, mut calls) = (Vec::new(), Vec::new());
    for number in 0..COUNT {
        pace.tick().await;
        let side = Arc::clone(side);
        called.push(Instant::now());
        // The first connection is the worker's.
        let task = 1 + number % (TASKS - 1);
        calls.push(tokio::spawn(async move { side.schedule(task, Command::new(number)).await }));
    }
    for call in calls {
        call.await??;
    }
    Ok(called)
}

/// When each command was leased.
async fn lease_all(side: Arc<Side>) -> Result<Vec<(usize, Instant)>> {
    let mut leased = Vec::new();
    while leased.len() < COUNT {
        let batch = side.lease(0).await?;
        let now = Instant::now();
        if batch.len() == 0 {
            sleep(PAUSE).await;
            continue;
        }
        leased.extend(batch.numbers()?.into_iter().map(|number| (number, now)));
        side.settle(0, batch).await?;
    }
    Ok(leased)
}
