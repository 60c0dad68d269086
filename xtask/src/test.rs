use anyhow::{Context, Result};

use crate::services;
use crate::shell::{cargo, output, repository, run};

const TESTS: [&str; 4] = ["test", "--workspace", "--all-features", "--no-fail-fast"];

/// Every test there is, on one server.
pub(crate) fn all() -> Result<()> {
    services::install()?;
    let mut test = services::with_postgres(&TESTS)?;
    if !words_errors_as_expected()? {
        // See `inbox-macros/tests/ui.rs`.
        test.env("INBOX_UI", "headlines").env("TRYBUILD", "overwrite");
    }
    run(&mut test)
}

/// Takes what the compiler says now for what it should say.
pub(crate) fn rewrite_expected_errors() -> Result<()> {
    run(cargo(&["test", "--package", "inbox-macros", "--test", "ui"]).env("TRYBUILD", "overwrite"))
}

/// Whether this is the compiler whose output is checked in.
fn words_errors_as_expected() -> Result<bool> {
    let file = repository().join("inbox-macros/tests/ui/rust-version");
    let expected = std::fs::read_to_string(&file)
        .with_context(|| format!("could not read {}", file.display()))?;
    let expected = format!("rustc {}.", expected.trim());
    let version = output(std::process::Command::new("rustc").arg("--version"))?;
    Ok(String::from_utf8_lossy(&version.stdout).starts_with(&expected))
}
