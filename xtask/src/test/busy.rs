use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Result, bail};

use super::{Built, TESTS, with_postgres};
use crate::services;
use crate::shell::{repository, shown};

/// Processes that want all the time they can get, beside the tests.
const SPINNING: usize = 8;

/// Whole runs beside them.
const RUNS: usize = 3;

/// Every test, on a machine that has other work, and then on a single core: no test may depend on how
/// fast a machine is.
pub(crate) fn beside_other_work() -> Result<()> {
    // Where it is now: it may be built anew with the tests.
    let this = std::env::current_exe()?;
    services::install()?;
    let built = Built::of(&TESTS)?;
    let mut failed = Vec::new();
    for run in 1..=RUNS {
        println!("> run {run} of {RUNS} beside {SPINNING} busy processes");
        let _busy = (0..SPINNING).map(|_| Spinning::start(&this)).collect::<Result<Vec<_>>>()?;
        if !succeeds(&mut with_postgres(&built)?)? {
            failed.push(format!("run {run} beside busy processes"));
        }
    }
    println!("> a run on one core");
    let whole = with_postgres(&built)?;
    let mut pinned = Command::new("taskset");
    pinned.args(["--cpu-list", "0"]).arg(whole.get_program()).args(whole.get_args());
    pinned.current_dir(repository());
    if !succeeds(&mut pinned)? {
        failed.push("the run on one core".to_owned());
    }
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("tests failed in {}: each run lists its own above", failed.join(", ")),
    }
}

fn succeeds(command: &mut Command) -> Result<bool> {
    println!("> {}", shown(command));
    Ok(command.status()?.success())
}

/// A process that does nothing, as fast as it can.
struct Spinning(Child);

impl Spinning {
    fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        Ok(Self(command.arg("spin").stdin(Stdio::piped()).spawn()?))
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        // Gone already, at worst.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Spins until its input ends, as it does when whoever started it is gone, however that came.
pub(crate) fn spin() {
    let ended = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    while !ended.is_finished() {
        std::hint::spin_loop();
    }
}
