use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::shell::{cargo, output, repository, run};

/// The version the checks were written for.
const VERSION: &str = "0.20.2";

/// Licences, duplicate versions and sources of every dependency, and known vulnerabilities where
/// their list can be had.
pub(crate) fn dependencies() -> Result<()> {
    let program = installed()?;
    run(deny(&program).args(["bans", "licenses", "sources"]))?;
    vulnerabilities(&program)
}

fn deny(program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.args(["--all-features", "check"]).current_dir(repository());
    command
}

/// The list comes over the network, and only its absence is forgiven.
fn vulnerabilities(program: &PathBuf) -> Result<()> {
    let checked = output(deny(program).arg("advisories"))?;
    let said = String::from_utf8_lossy(&checked.stderr);
    if checked.status.success() {
        println!("no known vulnerabilities");
    } else if said.contains("failed to fetch advisory database") {
        println!("the list of vulnerabilities cannot be fetched here: IT WAS NOT CHECKED");
    } else {
        bail!("cargo deny check advisories failed:\n{said}");
    }
    Ok(())
}

/// Where cargo-deny is: on the machine already, or built into `target/tools`.
fn installed() -> Result<PathBuf> {
    let works = |program: &PathBuf| {
        output(Command::new(program).arg("--version")).is_ok_and(|output| output.status.success())
    };
    let own = repository().join("target/tools/bin/cargo-deny");
    if let Some(found) = [PathBuf::from("cargo-deny"), own.clone()].into_iter().find(works) {
        return Ok(found);
    }
    let tools = repository().join("target/tools");
    // Not optimised: most of the time is spent on building it, and little on its checks.
    let build = ["install", "--quiet", "--locked", "--debug", "--no-default-features"];
    let mut install = cargo(&build);
    install.args(["cargo-deny", "--version", VERSION, "--root"]);
    run(install.arg(tools)).context("dependencies cannot be checked without cargo-deny")?;
    Ok(own)
}
