use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::apt::{as_root, install_packages};
use crate::shell::output;

/// Debian's interpreter: another one on the path does not find Debian's modules.
const PYTHON: &str = "/usr/bin/python3";

/// Installs what tests need, where it is missing: a server, of which some tests start one of their own
/// even where `DATABASE_URL` names another, and the clients that the guides show.
pub(crate) fn install() -> Result<()> {
    let needed = [
        ("postgresql", has_postgres()),
        ("postgresql-client", has_psql()),
        ("python3-psycopg2", has_psycopg()),
        (
            "pgbouncer",
            runs("pgbouncer", &["--version"]) || Path::new("/usr/sbin/pgbouncer").is_file(),
        ),
        // For certificates of servers: to make some, and to know whom everyone trusts.
        ("openssl", runs("openssl", &["version"])),
        ("ca-certificates", Path::new("/etc/ssl/certs/ca-certificates.crt").is_file()),
    ];
    let missing: Vec<_> =
        needed.iter().filter(|(_, there)| !there).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    install_packages(&missing)?;
    if missing.contains(&"pgbouncer") {
        // Debian starts one, which nobody needs. Where nothing starts services, there is none.
        let _ = output(as_root("systemctl").args(["disable", "--now", "pgbouncer"]));
    }
    Ok(())
}

fn has_psql() -> bool {
    runs("psql", &["--version"]) || beside_servers("psql")
}

fn has_psycopg() -> bool {
    runs(PYTHON, &["-c", "import psycopg2"])
}

/// The test kit looks in the same places. A client alone, which Debian puts beside the servers, is not
/// enough.
fn has_postgres() -> bool {
    let on_path = runs("initdb", &["--version"]) && runs("postgres", &["--version"]);
    on_path || beside_servers("initdb")
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    output(Command::new(program).args(arguments)).is_ok_and(|output| output.status.success())
}

/// Whether Debian put this program beside one of its servers.
fn beside_servers(program: &str) -> bool {
    let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let mut found = versions.filter(|version| version.path().join("bin").join(program).is_file());
    found.next().is_some()
}
