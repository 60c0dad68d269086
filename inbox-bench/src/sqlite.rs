use anyhow::Result;

use crate::measure::Measure;
use crate::report::Report;
use crate::work;

/// A host on the embedded store: without keys, with one ordering key, and with a thousand.
pub(crate) async fn drain(report: &mut Report) -> Result<()> {
    const COUNT: usize = 5_000;
    const KEYLESS: Measure = Measure::rate("sqlite, drain, keyless");
    const LANES: [(usize, Measure); 2] = [
        (1, Measure::rate("sqlite, drain, one lane")),
        (1_000, Measure::rate("sqlite, drain, 1,000 ordering keys")),
    ];
    let directory = tempfile::tempdir()?;
    let store = inbox::sqlite::open(directory.path().join("bench.db")).await?;
    report.add_ours(KEYLESS, work::keyless().rate(&store, COUNT).await?);
    for (lanes, measure) in LANES {
        report.add_ours(measure, work::in_lanes(lanes).rate(&store, COUNT).await?);
    }
    Ok(())
}
