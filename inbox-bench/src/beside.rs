use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use inbox::ScheduleOptions;
use tokio::time::interval;

use crate::contract::{Command, HANDLER, Step};
use crate::host::{self, Calls};
use crate::lane::{self, Lanes};
use crate::measure::{Mark, Measure};
use crate::pickup::{COUNT, PACE, quantiles};
use crate::place::Place;
use crate::report::Report;
use crate::warm;
use crate::work;

/// A host works on a deep lane: the time from the call that schedules a command without an ordering key to the
/// handler that is called for it, of the lane's handler and of another.
pub(crate) async fn a_deep_lane(place: &Place, report: &mut Report) -> Result<()> {
    const DEPTH: usize = 100_000;
    const OTHER: [Measure; 2] = [
        Measure::time("beside a deep lane, other handler, p50").with(Mark::AtMost(50.0)),
        Measure::time("beside a deep lane, other handler, p99").with(Mark::AtMost(50.0)),
    ];
    const SAME: [Measure; 2] = [
        Measure::time("beside a deep lane, same handler, p50").with(Mark::AtMost(50.0)),
        Measure::time("beside a deep lane, same handler, p99").with(Mark::AtMost(50.0)),
    ];
    place.clear().await?;
    let (ours, [side, _]) = (place.ours()?, place.sides(0));
    warm::schedule(side).await?;
    warm::work(side).await?;
    work::in_lanes(1).warm(ours.store()).await?;

    let calls = Calls::timed(2 * COUNT).in_lanes(Lanes::background());
    let inbox = host::build(ours.store(), &[lane::HANDLER, HANDLER], &calls).await?;
    work::in_lanes(1).fill(&inbox, DEPTH).await?;
    let host = inbox.start()?;
    let mut ticks = interval(PACE);
    let (mut called, mut scheduling) = (Vec::new(), Vec::new());
    for number in 0..COUNT {
        ticks.tick().await;
        called.push(Instant::now());
        let scheduler = inbox.clone();
        scheduling.push(tokio::spawn(async move {
            let other = Command::new(number);
            let same = Step { lane: None, number: COUNT + number };
            let scheduler = scheduler.scheduler();
            let (other, same) = tokio::join!(
                scheduler.schedule(other, ScheduleOptions::new()),
                scheduler.schedule(same, ScheduleOptions::new())
            );
            other.and(same)
        }));
    }
    for one in scheduling {
        one.await??;
    }
    let handled = calls.lanes.handled();
    calls.are_enough().await;
    // Most of the lane is left.
    host.shutdown(Duration::from_secs(30)).await;
    calls.lanes.check()?;
    ensure!((1..DEPTH).contains(&handled), "{handled} of {DEPTH} had been handled: too few or all");

    let (same, other): (Vec<_>, Vec<_>) =
        calls.times().into_iter().partition(|(number, _)| *number >= COUNT);
    let same: Vec<_> = same.into_iter().map(|(number, at)| (number - COUNT, at)).collect();
    for (measures, picked_up) in [(OTHER, other), (SAME, same)] {
        let (half, most) = quantiles(&called, &picked_up);
        report.add_ours(measures[0], half);
        report.add_ours(measures[1], most);
    }
    Ok(())
}
