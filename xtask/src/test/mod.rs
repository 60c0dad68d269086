//! `cargo xtask test`: every test there is, whatever becomes of the others.

mod built;
mod busy;
mod docs;
mod failures;
mod lines;
mod program;
mod round;
mod ui;

use std::process::Command;

use anyhow::Result;

use crate::services;
use crate::shell::{cargo, repository, run};

use built::Built;
use failures::Failures;
use round::Round;

pub(crate) use busy::{beside_other_work, spin};
pub(crate) use ui::rewrite_expected_errors;

const TESTS: [&str; 3] = ["test", "--workspace", "--all-features"];

/// Tests of the PostgreSQL store that a pooler would make no difference to, or that are about what it
/// takes away.
const DIRECT: [&str; 6] = ["conformance_by_role", "notify", "plans", "roles", "shifted", "tls"];

/// Every test, on one server; and those of the PostgreSQL store again, through PgBouncer.
pub(crate) fn all() -> Result<()> {
    services::install()?;
    let built = Built::of(&TESTS)?;
    if std::env::var_os("DATABASE_URL").is_none() {
        return run(&mut with_postgres(&built)?);
    }
    let mut failures = Failures::default();
    Round::new("tests")?.run(built.programs()?, &mut failures)?;
    let pooled = built.programs()?.into_iter();
    let pooled = pooled.filter(|program| program.is_of("inbox-postgres", &DIRECT)).collect();
    Round::through_pooler()?.run(pooled, &mut failures)?;
    docs::run(&TESTS, &mut failures)?;
    failures.into_result()
}

/// This very command, with a server of its own that goes away with it.
fn with_postgres(built: &Built) -> Result<Command> {
    // By cargo, as the program that runs now may have been built anew meanwhile.
    let test = cargo(&["run", "--quiet", "--package", "xtask", "--", "test"]);
    let mut command = Command::new(built.program("with-postgres")?);
    command.arg(test.get_program()).args(test.get_args()).current_dir(repository());
    Ok(command)
}
