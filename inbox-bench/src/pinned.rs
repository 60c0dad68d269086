use std::time::Instant;

use anyhow::Result;
use inbox::Contract;

use crate::limit::KEYS;
use crate::measure::{Mark, Measure};
use crate::place::Place;
use crate::report::Report;
use crate::work::{self, Work};

/// A host works off a lane, and what a limit holds back, while someone holds a transaction open: the last tenth
/// should be as fast as the first.
pub(crate) async fn drain(place: &Place, report: &mut Report) -> Result<()> {
    const LANE: Measure =
        Measure::share("one lane, xmin pinned, last/first tenth").with(Mark::Inbox(0.9));
    const LIMIT: Measure =
        Measure::share("per_key, xmin pinned, last/first tenth").with(Mark::Inbox(0.9));
    report.add_ours(LANE, last_to_first(place, &work::in_lanes(1), 30_000).await?);
    report.add_ours(LIMIT, last_to_first(place, &work::limited(KEYS), 20_000).await?);
    Ok(())
}

async fn last_to_first<C: Contract>(place: &Place, work: &Work<C>, count: usize) -> Result<f64> {
    /// While these are handled, the host is still starting.
    const START: usize = 1_000;
    place.clear().await?;
    let store = place.ours()?.store();
    work.warm(store).await?;
    let pin = place.pin().await?;
    let times = work.times(store, count).await?;
    drop(pin);
    place.done().await?;
    let tenth = count / 10;
    let took = |from: usize, to: usize| -> f64 {
        let (from, to): (Instant, Instant) = (times[from], times[to]);
        to.duration_since(from).as_secs_f64()
    };
    Ok(took(START, START + tenth) / took(count - 1 - tenth, count - 1))
}
