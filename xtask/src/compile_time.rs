use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::shell::{cargo, output, repository};

/// Measures what the attributes add to a build, against the same types and functions without
/// them. Prints; decides nothing, because machines differ.
pub(crate) fn report(items: usize) -> Result<()> {
    let plain = Project::write("plain", &program(items, false))?;
    let with_inbox = Project::write("with-inbox", &program(items, true))?;
    println!("{items} contracts and {items} handlers; median of {RUNS} runs");
    println!(
        "{:<12} {:>10} {:>12} {:>10} {:>12}",
        "", "without", "with inbox", "added", "per pair"
    );
    for subcommand in ["check", "build"] {
        let (without, with) = (plain.measure(subcommand)?, with_inbox.measure(subcommand)?);
        let added = with.saturating_sub(without);
        println!(
            "cargo {subcommand:<6} {:>8}ms {:>10}ms {:>8}ms {:>10.2}ms",
            without.as_millis(),
            with.as_millis(),
            added.as_millis(),
            added.as_secs_f64() * 1000.0 / f64::from(u32::try_from(items)?),
        );
    }
    with_inbox.registers(items)
}

/// Builds them once, without measuring anything: many handlers in one program compile and register.
pub(crate) fn check(items: usize) -> Result<()> {
    println!("> {items} contracts and {items} handlers in one program");
    let with_inbox = Project::write("with-inbox", &program(items, true))?;
    with_inbox.cargo("build")?;
    with_inbox.registers(items)
}

const RUNS: usize = 3;

fn program(items: usize, with_inbox: bool) -> String {
    let mut source = String::from("#![allow(dead_code)]\n");
    for at in 0..items {
        let (contract, handler) = match with_inbox {
            true => (
                format!(
                    "#[inbox::inbox_contract(name = \"m{at}\", version = 1, idempotency_key = \"{{id}}\")]"
                ),
                format!("#[inbox::handler(key = \"h{at}\", timeout = \"30s\")]"),
            ),
            false => (String::new(), String::new()),
        };
        // Writing to a `String` cannot fail.
        let _ = write!(
            source,
            "{contract}\n#[derive(serde::Serialize, serde::Deserialize)]\n\
             struct M{at} {{ id: u64, text: String }}\n\
             {handler}\nasync fn h{at}(_command: M{at}, _state: inbox::State<u8>, \
             _context: inbox::Context) -> Result<(), String> {{ Ok(()) }}\n"
        );
    }
    source.push_str(
        "fn main() {\n    let registry = inbox::Registry::builder().state(1_u8).build().unwrap();\n    \
         println!(\"{} contracts, {} handlers\", registry.contracts().len(), \
         registry.handlers().len());\n}\n",
    );
    source
}

struct Project(PathBuf);

impl Project {
    fn write(name: &str, source: &str) -> Result<Self> {
        let directory = repository().join("target/compile-time").join(name);
        fs::create_dir_all(directory.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [workspace]\n\n[dependencies]\ninbox = {{ path = \"../../../inbox\" }}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n"
        );
        fs::write(directory.join("Cargo.toml"), manifest)?;
        fs::write(directory.join("src/main.rs"), source)?;
        fs::copy(repository().join("Cargo.lock"), directory.join("Cargo.lock"))?;
        Ok(Self(directory))
    }

    /// The median time of building the project alone, its dependencies being built.
    fn measure(&self, subcommand: &str) -> Result<Duration> {
        self.cargo(subcommand)?;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            touch(&self.0.join("src/main.rs"))?;
            let begun = Instant::now();
            self.cargo(subcommand)?;
            times.push(begun.elapsed());
        }
        times.sort();
        Ok(times[RUNS / 2])
    }

    fn cargo(&self, subcommand: &str) -> Result<()> {
        let build = output(
            cargo(&[subcommand, "--offline", "--quiet"])
                .current_dir(&self.0)
                .env("CARGO_TARGET_DIR", repository().join("target/compile-time/target"))
                // Every run is a whole one.
                .env("CARGO_INCREMENTAL", "0"),
        )?;
        let said = String::from_utf8_lossy(&build.stderr);
        ensure!(
            build.status.success(),
            "cargo {subcommand} in {} failed:\n{said}",
            self.0.display()
        );
        Ok(())
    }

    /// Runs the program, which counts what it registered.
    fn registers(&self, items: usize) -> Result<()> {
        let name = self.0.file_name().context("the project has no name")?;
        let program = repository().join("target/compile-time/target/debug").join(name);
        let run = output(&mut std::process::Command::new(program))?;
        let said = String::from_utf8(run.stdout)?;
        ensure!(said == format!("{items} contracts, {items} handlers\n"), "it registered {said}");
        Ok(())
    }
}

fn touch(file: &Path) -> Result<()> {
    fs::File::options().write(true).open(file)?.set_modified(std::time::SystemTime::now())?;
    Ok(())
}
