use std::time::Instant;

use anyhow::Result;
use inbox::{ScheduleOptions, State, handler};

use crate::contract::Step;
use crate::host::{self, Calls};
use crate::measure::{Measure, per_second};
use crate::place::Place;
use crate::report::Report;
use crate::side::Side;
use crate::warm;

const COUNT: usize = 500;

#[handler(key = "bench.step")]
async fn step(command: Step, State(calls): State<Calls>) {
    calls.note(command.number);
}

/// All have one ordering key, so that each waits for the one before; beside a worker in raw SQL that leases and
/// settles one after the other.
pub(crate) async fn one(place: &Place, round: usize, report: &mut Report) -> Result<()> {
    const MEASURE: Measure = Measure::rate("drain, one lane");
    for side in place.sides(round) {
        place.clear().await?;
        warm::work(side).await?;
        let took = match &**side {
            Side::Inbox(ours) => {
                let calls = Calls::counted(COUNT);
                let inbox = host::build(ours, "bench.step", &calls).await?;
                let steps = (0..COUNT).map(|number| (Step { number }, ScheduleOptions::new()));
                for receipt in inbox.scheduler().schedule_all(steps.collect::<Vec<_>>()).await? {
                    receipt?;
                }
                host::work_off(&inbox, &calls).await?
            }
            Side::Raw(raw) => {
                place.fill(COUNT).await?;
                let began = Instant::now();
                while let Some(held) = raw.lease(0, 1).await? {
                    raw.settle(0, Some(held)).await?;
                }
                began.elapsed()
            }
        };
        place.done().await?;
        report.add(MEASURE, side, per_second(COUNT, took));
    }
    Ok(())
}
