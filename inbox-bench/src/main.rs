//! cargo xtask bench --quick
//!
//! Schedules and drains on a durable PostgreSQL of its own, and prints medians with their ratio to raw
//! SQL in the same run. Machines are noisy: read the ratios.

mod contract;
mod drain;
mod place;
mod raw;
mod report;
mod schedule;

use anyhow::{Result, bail};

use place::Place;
use report::Report;

/// Rounds of each measurement; the median counts.
const ROUNDS: usize = 3;

#[tokio::main]
async fn main() -> Result<()> {
    let json = arguments()?;
    let place = Place::start().await?;
    let mut report = Report::default();
    for _ in 0..ROUNDS {
        schedule::one_by_one(&place, &mut report).await?;
        schedule::by_sixteen(&place, &mut report).await?;
        schedule::by_thousand(&place, &mut report).await?;
        drain::plain(&place, &mut report).await?;
        drain::while_a_transaction_is_open(&place, &mut report).await?;
    }
    print!("{report}");
    if let Some(file) = json {
        std::fs::write(&file, report.json())?;
    }
    Ok(())
}

/// Where the figures go besides the screen.
fn arguments() -> Result<Option<String>> {
    let mut arguments = std::env::args().skip(1);
    let (mut json, mut is_quick) = (None, false);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next_if_value(&argument)) {
            ("--quick", None) => is_quick = true,
            ("--peers", Some(peers)) if peers == "none" => {}
            ("--peers", _) => bail!("there are no peers to run yet: write `--peers none`"),
            ("--json", Some(file)) => json = Some(file),
            _ => {
                bail!("cannot understand `{argument}`: write --quick [--peers none] [--json FILE]")
            }
        }
    }
    if !is_quick {
        bail!("there is only the quick benchmark yet: write `--quick`");
    }
    Ok(json)
}

/// The value after an option that has one.
trait NextValue: Iterator<Item = String> {
    fn next_if_value(&mut self, option: &str) -> Option<String> {
        matches!(option, "--peers" | "--json").then(|| self.next()).flatten()
    }
}

impl<I: Iterator<Item = String>> NextValue for I {}
