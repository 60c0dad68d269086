use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::failures::{Failure, Failures};
use super::lines::{self, Printed};
use super::program::Program;
use super::ui;

/// Tests that wait for something leave their core to others.
const THREADS_PER_CORE: usize = 2;

/// Programs of tests that run one after the other, under the same circumstances.
pub(super) struct Round {
    name: &'static str,
    /// A variable that its programs find set.
    set: Option<(&'static str, &'static str)>,
}

impl Round {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, set: None }
    }

    pub(super) fn through_pooler() -> Self {
        Self { name: "tests through PgBouncer", set: Some(("INBOX_TEST_POOLER", "1")) }
    }

    /// Runs all of them, whatever happens to one.
    pub(super) fn run(&self, programs: Vec<Program>, failures: &mut Failures) -> Result<()> {
        ensure!(!programs.is_empty(), "there are no {}", self.name);
        println!("> {}: {} programs", self.name, programs.len());
        for program in programs {
            let mut command = program.command();
            command.envs(self.set).envs(ui::circumstances()?);
            if std::env::var_os("RUST_TEST_THREADS").is_none() {
                command.env("RUST_TEST_THREADS", threads().to_string());
            }
            let ran = run(&mut command, &program.name())?;
            let again = |test: Option<&str>| {
                let set = self.set.map(|(name, value)| format!("{name}={value} "));
                format!("{}{}", set.unwrap_or_default(), program.again(test))
            };
            failures.note(&ran, |test| Failure {
                name: test.map_or(program.name(), |test| format!("{} {test}", program.name())),
                again: again(test),
            });
        }
        Ok(())
    }
}

fn threads() -> usize {
    THREADS_PER_CORE * std::thread::available_parallelism().map_or(2, usize::from)
}

/// A program that has ended.
pub(super) struct Ran {
    pub(super) printed: Printed,
    pub(super) succeeded: bool,
}

/// Runs a program of tests, and shows all that it printed if something failed.
pub(super) fn run(command: &mut Command, name: &str) -> Result<Ran> {
    let begun = Instant::now();
    let (output, input) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
    let child = command.spawn();
    // The output ends when nobody can write to it any more, and that includes us.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.with_context(|| format!("could not start {name}"))?;
    let printed = lines::read(output);
    let status = child.wait()?;
    let took = begun.elapsed().as_secs_f64();
    let passed = printed.passed;
    match status.success() {
        true => println!("  {took:>7.1} s  {passed:>4} passed  {name}"),
        false => {
            println!("{}", printed.text);
            println!("  {took:>7.1} s  {passed:>4} passed  {name}: FAILED ({status})");
        }
    }
    Ok(Ran { printed, succeeded: status.success() })
}
