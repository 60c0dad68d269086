use anyhow::Result;

use crate::shell::{cargo, run};

/// The two ends: no optimisation, and everything in one unit.
pub(crate) fn two_profiles() -> Result<()> {
    in_profiles("dev,fat")
}

/// Every way of cutting a program into units.
pub(crate) fn every_profile() -> Result<()> {
    in_profiles("dev,many-units,release,thin,fat")
}

fn in_profiles(profiles: &str) -> Result<()> {
    let test = ["test", "--package", "inbox-tests", "--test", "link"];
    run(cargo(&test).env("INBOX_LINK_PROFILES", profiles))
}
