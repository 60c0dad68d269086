use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{cargo, output, repository, run};

/// Takes what the compiler says now for what it should say.
pub(crate) fn rewrite_expected_errors() -> Result<()> {
    run(cargo(&["test", "--package", "inbox-macros", "--test", "ui"]).env("TRYBUILD", "overwrite"))
}

/// What the tests of compile errors are told; see `inbox-macros/tests/ui.rs`.
pub(super) fn circumstances() -> Result<Vec<(&'static str, &'static str)>> {
    Ok(match words_errors_as_expected()? {
        true => Vec::new(),
        false => vec![("INBOX_UI", "headlines"), ("TRYBUILD", "overwrite")],
    })
}

/// Whether this is the compiler whose output is checked in.
fn words_errors_as_expected() -> Result<bool> {
    let file = repository().join("inbox-macros/tests/ui/rust-version");
    let expected = std::fs::read_to_string(&file)
        .with_context(|| format!("could not read {}", file.display()))?;
    let expected = format!("rustc {}.", expected.trim());
    let version = output(Command::new("rustc").arg("--version"))?;
    Ok(String::from_utf8_lossy(&version.stdout).starts_with(&expected))
}
