use anyhow::Result;

use crate::shell::{cargo, run};

/// Every test there is.
pub(crate) fn all() -> Result<()> {
    run(&mut cargo(&["test", "--workspace", "--all-features"]))
}

/// Takes what the compiler says now for what it should say.
pub(crate) fn rewrite_expected_errors() -> Result<()> {
    run(cargo(&["test", "--package", "inbox-macros", "--test", "ui"]).env("TRYBUILD", "overwrite"))
}
