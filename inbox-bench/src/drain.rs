use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::measure::{Mark, Measure, per_second};
use crate::place::Place;
use crate::report::Report;
use crate::side::Side;
use crate::warm;

const WORKERS: usize = 2;

/// Two workers lease and settle until nothing is left.
pub(crate) async fn plain(place: &Place, round: usize, report: &mut Report) -> Result<()> {
    const COUNT: usize = 50_000;
    const MEASURE: Measure = Measure::rate("drain, 2 workers").with(Mark::Ratio(0.5));
    for side in place.sides(round) {
        place.clear().await?;
        let drain = Drain::of(place, side, COUNT).await?;
        report.add(MEASURE, side, per_second(COUNT, drain.until(COUNT)));
    }
    Ok(())
}

/// The same while someone holds a transaction open, so that nothing can be vacuumed: the last tenth
/// should be as fast as the first.
pub(crate) async fn while_a_transaction_is_open(
    place: &Place,
    round: usize,
    report: &mut Report,
) -> Result<()> {
    const COUNT: usize = 300_000;
    const TENTH: usize = COUNT / 10;
    const ALL: Measure = Measure::rate("drain, xmin pinned");
    const LAST: Measure =
        Measure::share("drain, xmin pinned, last/first tenth").with(Mark::Inbox(0.9));
    for side in place.sides(round) {
        place.clear().await?;
        let pin = place.pin().await?;
        let drain = Drain::of(place, side, COUNT).await?;
        drop(pin);
        let (first, all) = (drain.until(TENTH), drain.until(COUNT));
        let last = all.saturating_sub(drain.until(COUNT - TENTH));
        report.add(ALL, side, per_second(COUNT, all));
        report.add(LAST, side, first.as_secs_f64() / last.as_secs_f64());
    }
    Ok(())
}

/// When how many had been settled.
pub(crate) struct Drain(Vec<(Duration, usize)>);

impl Drain {
    pub(crate) async fn of(place: &Place, side: &Arc<Side>, count: usize) -> Result<Self> {
        warm::work(side).await?;
        let before = place.done().await?;
        place.fill(count).await?;
        let began = Instant::now();
        let work = |worker| tokio::spawn(work(Arc::clone(side), worker, began));
        let workers: Vec<_> = (0..WORKERS).map(work).collect();
        let mut settled = Vec::new();
        for worker in workers {
            settled.extend(worker.await??);
        }
        settled.sort_unstable();
        let done = place.done().await? - before;
        ensure!(done == i64::try_from(count)?, "{done} of {count} are done: the drain is broken");
        Ok(Self(settled))
    }

    /// How long it took until `count` were settled.
    pub(crate) fn until(&self, count: usize) -> Duration {
        let mut total = 0;
        let reached = self.0.iter().find(|(_, settled)| {
            total += settled;
            total >= count
        });
        reached.map_or(Duration::MAX, |(after, _)| *after)
    }
}

async fn work(side: Arc<Side>, worker: usize, began: Instant) -> Result<Vec<(Duration, usize)>> {
    let mut settled = Vec::new();
    loop {
        let batch = side.lease(worker).await?;
        let count = batch.len();
        if count == 0 {
            return Ok(settled);
        }
        side.settle(worker, batch).await?;
        settled.push((began.elapsed(), count));
    }
}
