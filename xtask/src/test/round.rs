use std::panic::resume_unwind;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::failures::{Failure, Failures};
use super::lines::{self, Printed};
use super::program::Program;
use super::ui;

/// Programs that run at the same time: one that has a single test left leaves its core to another.
const AT_ONCE: usize = 2;

/// Tests that wait for something leave their core to others.
const TESTS_PER_CORE: usize = 2;

/// How long the output of a program that has ended is waited for: a program that died may leave others
/// behind, which hold it open.
const LEFT_BEHIND: Duration = Duration::from_secs(10);

/// How often it is seen whether the output has ended.
const GLANCE: Duration = Duration::from_millis(5);

/// Programs of tests that run under the same circumstances.
pub(super) struct Round {
    name: &'static str,
    /// What its programs find in their environment.
    set: Vec<(&'static str, String)>,
    /// The same, as it is typed before a command.
    shown: String,
}

impl Round {
    pub(super) fn new(name: &'static str) -> Result<Self> {
        Self::with(name, None)
    }

    pub(super) fn through_pooler() -> Result<Self> {
        Self::with("tests through PgBouncer", Some(("INBOX_TEST_POOLER", "1")))
    }

    fn with(name: &'static str, set: Option<(&'static str, &'static str)>) -> Result<Self> {
        let shown = set.map_or(String::new(), |(name, value)| format!("{name}={value} "));
        let set = set.into_iter().chain(ui::circumstances()?);
        let mut set: Vec<_> = set.map(|(name, value)| (name, value.to_owned())).collect();
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            set.push(("RUST_TEST_THREADS", threads().to_string()));
        }
        Ok(Self { name, set, shown })
    }

    /// Runs all of them, whatever happens to one, a few at a time.
    pub(super) fn run(&self, programs: Vec<Program>, failures: &mut Failures) -> Result<()> {
        ensure!(!programs.is_empty(), "there are no {}", self.name);
        println!("> {}: {} programs", self.name, programs.len());
        let (programs, failures) = (Mutex::new(programs.into_iter()), Mutex::new(failures));
        let next = || programs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some(program) = next() {
                let ran = run(program.command().envs(self.set.clone()), &program.name())?;
                let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.note(&ran, |test| self.failure(&program, test));
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
            let mut ended = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended.try_for_each(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    fn failure(&self, program: &Program, test: Option<&str>) -> Failure {
        Failure {
            name: test.map_or(program.name(), |test| format!("{} {test}", program.name())),
            again: format!("{}{}", self.shown, program.again(test)),
        }
    }
}

/// How many tests each program runs at the same time.
fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    (TESTS_PER_CORE * cores).div_ceil(AT_ONCE)
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
        let (printed, name) = (Arc::clone(&printed), name.to_owned());
        move || lines::read(output, &name, &printed)
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
        // At once: another program may end at the same time.
        false => println!(
            "{}\n  {took:>7.1} s  {passed:>4} passed  {name}: FAILED ({status})",
            printed.text
        ),
    }
    Ok(Ran { printed, succeeded: status.success() })
}
