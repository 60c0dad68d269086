use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;

use crate::contract::Command;
use crate::measure::{Mark, Measure, per_second};
use crate::place::Place;
use crate::report::Report;
use crate::side::TASKS;
use crate::warm;

/// One command after the other, on all connections in turn, as the pool hands them out.
pub(crate) async fn one_by_one(place: &Place, round: usize, report: &mut Report) -> Result<()> {
    const COUNT: usize = 400;
    const MEASURE: Measure = Measure::rate("schedule, one by one");
    for side in place.sides(round) {
        place.clear().await?;
        warm::schedule(side).await?;
        let began = Instant::now();
        for number in 0..COUNT {
            side.schedule(number % TASKS, Command::new(number)).await?;
        }
        report.add(MEASURE, side, per_second(COUNT, began.elapsed()));
    }
    Ok(())
}

/// Sixteen tasks at once.
pub(crate) async fn by_sixteen(place: &Place, round: usize, report: &mut Report) -> Result<()> {
    const EACH: usize = 300;
    const MEASURE: Measure = Measure::rate("schedule, 16 tasks").with(Mark::Ratio(0.7));
    for side in place.sides(round) {
        place.clear().await?;
        warm::schedule(side).await?;
        let began = Instant::now();
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let side = Arc::clone(side);
                tokio::spawn(async move {
                    for number in 0..EACH {
                        side.schedule(task, Command::new(number)).await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        report.add(MEASURE, side, per_second(TASKS * EACH, began.elapsed()));
    }
    Ok(())
}

/// A thousand in one call.
pub(crate) async fn by_thousand(place: &Place, round: usize, report: &mut Report) -> Result<()> {
    const CALLS: usize = 20;
    const EACH: usize = 1_000;
    const MEASURE: Measure = Measure::rate("schedule, by 1,000").with(Mark::Ratio(0.6));
    for side in place.sides(round) {
        place.clear().await?;
        warm::schedule_all(side).await?;
        let began = Instant::now();
        for _ in 0..CALLS {
            side.schedule_all((0..EACH).map(Command::new).collect()).await?;
        }
        report.add(MEASURE, side, per_second(CALLS * EACH, began.elapsed()));
    }
    Ok(())
}
