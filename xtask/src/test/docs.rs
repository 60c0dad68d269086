use anyhow::Result;

use super::failures::{Failure, Failures};
use super::round;
use crate::shell::cargo;

/// Runs the examples in the documentation and the guides.
pub(super) fn run(tests: &[&str], failures: &mut Failures) -> Result<()> {
    println!("> examples in the documentation");
    let mut command = cargo(tests);
    let ran = round::run(command.args(["--doc", "--no-fail-fast"]), "doctests")?;
    failures.note(&ran, |test| Failure {
        name: format!("doctest {}", test.unwrap_or("of some package")),
        again: match test {
            Some(test) => format!("cargo {} --doc -- '{test}'", tests.join(" ")),
            None => format!("cargo {} --doc", tests.join(" ")),
        },
    });
    Ok(())
}
