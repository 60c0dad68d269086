use anyhow::Result;
use inbox::{State, handler};

use crate::contract::{Limited, Shared};
use crate::host::Calls;
use crate::measure::{Mark, Measure};
use crate::place::Place;
use crate::report::Report;
use crate::work;

/// Concurrency keys.
pub(crate) const KEYS: usize = 1_000;

pub(crate) const SHARED: &str = "bench.shared";
pub(crate) const LIMITED: &str = "bench.limited";

#[handler(key = "bench.shared", concurrency(fleet = 20))]
async fn shared(command: Shared, State(calls): State<Calls>) {
    calls.note(command.number);
}

#[handler(key = "bench.limited", concurrency(per_key = 1))]
async fn limited(command: Limited, State(calls): State<Calls>) {
    calls.note(command.number);
}

/// A host on handlers with limits, as a share of what it does without.
pub(crate) async fn drain(place: &Place, report: &mut Report) -> Result<()> {
    const FLEET: Measure = Measure::rate("drain, fleet = 20");
    const FLEET_SHARE: Measure =
        Measure::share("drain, fleet = 20 / keyless").with(Mark::Inbox(0.5));
    const KEY: Measure = Measure::rate("drain, per_key = 1, 1,000 keys");
    const KEY_SHARE: Measure =
        Measure::share("drain, per_key = 1, 1,000 keys / keyless").with(Mark::Inbox(0.3));
    // Anew: the machine may be slower by now.
    let keyless = work::keyless().rate_on(place).await?;
    let shared = work::shared().rate_on(place).await?;
    report.add_ours(FLEET, shared);
    report.add_ours(FLEET_SHARE, shared / keyless);
    let limited = work::limited(KEYS).rate_on(place).await?;
    report.add_ours(KEY, limited);
    report.add_ours(KEY_SHARE, limited / keyless);
    Ok(())
}
