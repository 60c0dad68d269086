use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::shell::{output, run};

/// Installs the servers that tests need, where they are missing.
pub(crate) fn install() -> Result<()> {
    // Someone else's server is used instead.
    if std::env::var_os("DATABASE_URL").is_none() && !has_postgres() {
        debian(&["postgresql"])?;
    }
    Ok(())
}

/// The test kit looks in the same places. A client alone, which Debian puts beside the servers, is not
/// enough.
fn has_postgres() -> bool {
    let runs = |program: &str| output(Command::new(program).arg("--version")).is_ok();
    let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let mut servers = versions.filter(|version| version.path().join("bin/initdb").is_file());
    (runs("initdb") && runs("postgres")) || servers.next().is_some()
}

/// Installs Debian's packages, as root or through sudo.
fn debian(packages: &[&str]) -> Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = match is_root() {
            true => Command::new("apt-get"),
            false => {
                let mut sudo = Command::new("sudo");
                sudo.args(["--non-interactive", "apt-get"]);
                sudo
            }
        };
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(&mut apt(&["update", "--quiet", "--quiet"]))?;
    let mut all = vec!["install", "--yes", "--quiet", "--quiet", "--no-install-recommends"];
    all.extend(packages);
    match run(&mut apt(&all)) {
        Ok(()) => Ok(()),
        Err(error) => bail!(
            "could not install {} ({error}): install it by hand, or name a running server with \
             DATABASE_URL=postgres://user:password@host/database",
            packages.join(", ")
        ),
    }
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|output| output.stdout == b"0\n")
}
