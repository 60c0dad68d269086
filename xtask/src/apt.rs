use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::{output, shown};

/// How long another `apt-get` is waited for, such as the one that a new machine starts by itself.
const PATIENCE: Duration = Duration::from_mins(10);

/// How often it is seen whether the other one has ended.
const INTERVAL: Duration = Duration::from_secs(2);

/// Installs Debian's packages, as root or through sudo.
pub(crate) fn install_packages(packages: &[&str]) -> Result<()> {
    apt(&["update", "--quiet", "--quiet"])?;
    let mut all = vec!["install", "--yes", "--quiet", "--quiet", "--no-install-recommends"];
    all.extend(packages);
    match apt(&all) {
        Ok(()) => Ok(()),
        Err(error) => {
            bail!("could not install {} ({error}): install it by hand", packages.join(", "))
        }
    }
}

/// Runs `apt-get`, once nobody else holds its locks.
fn apt(arguments: &[&str]) -> Result<()> {
    let begun = Instant::now();
    loop {
        // In words that can be read below, and through sudo too.
        let mut command = as_root("env");
        command.args(["LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(arguments);
        println!("> {}", shown(&command));
        let output = output(&mut command)?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        if !is_locked(&errors) || begun.elapsed() > PATIENCE {
            eprint!("{}{errors}", String::from_utf8_lossy(&output.stdout));
            bail!("{} failed ({})", shown(&command), output.status);
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Whether `apt-get` failed only because another one is at work.
fn is_locked(errors: &str) -> bool {
    errors.contains("Could not get lock")
        || errors.contains("Unable to acquire the dpkg frontend lock")
}

/// This program, as root or through sudo.
pub(crate) fn as_root(program: &str) -> Command {
    if is_root() {
        return Command::new(program);
    }
    let mut sudo = Command::new("sudo");
    sudo.args(["--non-interactive", program]);
    sudo
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|output| output.stdout == b"0\n")
}

#[cfg(test)]
mod tests {
    use super::is_locked;

    #[test]
    fn another_apt_get_is_waited_for_and_nothing_else() {
        let locked = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7676 (apt-get)\n\
                      E: Unable to lock directory /var/lib/apt/lists/\n";
        assert!(is_locked(locked));
        assert!(!is_locked("E: Unable to locate package postgresql\n"));
    }
}
