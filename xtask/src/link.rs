use anyhow::Result;

use crate::shell::{cargo, run};

/// Every way of cutting a program into units. `cargo xtask test` takes the two ends of the list.
const PROFILES: &str = "dev,many-units,release,thin,fat";

/// Builds crates that must not link together, in every profile.
pub(crate) fn every_profile() -> Result<()> {
    let test = ["test", "--package", "inbox-tests", "--test", "link"];
    run(cargo(&test).env("INBOX_LINK_PROFILES", PROFILES))
}
