use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::failures::{Failure, Failures};
use super::lines::{self, Printed};
use super::program::Program;
use super::ui;

/// Tests that wait for something leave their core to others.
const THREADS_PER_CORE: usize = 2;

/// How long the output of a program that has ended is waited for: a program that died may leave others
/// behind, which hold it open.
const LEFT_BEHIND: Duration = Duration::from_secs(10);

/// How often it is seen whether the output has ended.
const GLANCE: Duration = Duration::from_millis(5);

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
    let printed = Arc::new(Mutex::default());
    let reading = std::thread::spawn({
        let printed = Arc::clone(&printed);
        move || lines::read(output, &printed)
    });
    let status = child.wait()?;
    // All that it printed is there by then; only what it left behind can hold the output open.
    let ended = Instant::now();
    while !reading.is_finished() && ended.elapsed() < LEFT_BEHIND {
        std::thread::sleep(GLANCE);
    }
    let printed = std::mem::take(&mut *lines::held(&printed));
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
