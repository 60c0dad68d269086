use anyhow::Result;

use crate::services;
use crate::shell::{cargo, run};

/// Runs the benchmark, optimised, on a server of its own.
pub(crate) fn run_with(arguments: &[&str]) -> Result<()> {
    services::install()?;
    run(cargo(&["run", "--quiet", "--release", "--package", "inbox-bench", "--"]).args(arguments))
}
