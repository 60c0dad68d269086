use anyhow::{Context, Result, bail};

use crate::services::{self, Built};
use crate::shell::{cargo, output, repository, run};

const TESTS: [&str; 4] = ["test", "--workspace", "--all-features", "--no-fail-fast"];

/// Tests of the PostgreSQL store that a pooler would make no difference to, or that are about what it
/// takes away.
const DIRECT: [&str; 5] = ["conformance_by_role", "notify", "plans", "roles", "tls"];

/// Every test there is, on one server; and those of the PostgreSQL store again, through PgBouncer.
pub(crate) fn all() -> Result<()> {
    services::install()?;
    let built = Built::of(&TESTS)?;
    let mut test = built.with_postgres()?;
    if !words_errors_as_expected()? {
        // See `inbox-macros/tests/ui.rs`.
        test.env("INBOX_UI", "headlines").env("TRYBUILD", "overwrite");
    }
    run(&mut test)?;
    behind_pooler(&built)
}

fn behind_pooler(built: &Built) -> Result<()> {
    let programs = built.of_postgres().filter(|(name, _)| !DIRECT.contains(name));
    let run = |(_, program)| run(built.alone(program)?.env("INBOX_TEST_POOLER", "1"));
    // All of them, whatever happens to one.
    let ended: Vec<_> = programs.map(run).collect();
    if ended.is_empty() {
        bail!("there are no tests of the PostgreSQL store");
    }
    ended.into_iter().collect()
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
