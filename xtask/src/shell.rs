//! Running other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// The top of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A `cargo` command, started at the top of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    // Cargo tells the programs it starts which cargo it is.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(repository());
    // Cargo describes this package to us; crates whose build looks at that would be built anew, each time
    // that a command is run by hand and not by us.
    let described = std::env::vars_os().map(|(name, _)| name);
    for name in described.filter(|name| name.to_string_lossy().starts_with("CARGO_PKG_")) {
        command.env_remove(name);
    }
    command.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_MANIFEST_PATH");
    command
}

/// Runs `command`, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("> {}", shown(command));
    let status = command.status().with_context(|| format!("could not start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs `command`, its errors going where ours go, and answers what it printed.
pub(crate) fn printed(command: &mut Command) -> Result<String> {
    println!("> {}", shown(command));
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("could not start {}", shown(command)))?;
    if !output.status.success() {
        bail!("{} failed ({})", shown(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs `command` and answers what it printed.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("could not start {}", shown(command)))
}

/// A command line, without the directory of its program.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
