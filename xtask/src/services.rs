use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell::{cargo, output, printed, repository, run};

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
    debian(&missing)?;
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

/// What a `cargo test` of some arguments has built.
pub(crate) struct Built {
    arguments: Vec<String>,
    messages: Vec<Value>,
}

impl Built {
    /// Builds everything, so that the test kit's program for a server is there, with the features it has
    /// in the tests.
    pub(crate) fn of(arguments: &[&str]) -> Result<Self> {
        let mut build = cargo(arguments);
        build.args(["--no-run", "--message-format", "json-render-diagnostics"]);
        let printed = printed(&mut build)?;
        let messages = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { arguments: arguments.iter().map(|one| (*one).to_owned()).collect(), messages })
    }

    /// The same `cargo test` with one server for all that it runs, which goes away with it.
    pub(crate) fn with_postgres(&self) -> Result<Command> {
        let arguments: Vec<_> = self.arguments.iter().map(String::as_str).collect();
        let test = cargo(&arguments);
        let mut command = Command::new(self.server()?);
        command.arg(test.get_program()).args(test.get_args()).current_dir(repository());
        Ok(command)
    }

    /// One of the programs of tests, with a server of its own.
    pub(crate) fn alone(&self, program: &str) -> Result<Command> {
        let mut command = Command::new(self.server()?);
        command.arg(program).current_dir(repository().join("inbox-postgres"));
        Ok(command)
    }

    /// The programs of the PostgreSQL store's tests, with their names.
    pub(crate) fn of_postgres(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = repository().join("inbox-postgres").canonicalize().unwrap_or_default();
        self.messages.iter().filter_map(move |message| {
            let target = &message["target"];
            let is_test = target["kind"][0] == "test";
            let is_ours = Path::new(target["src_path"].as_str()?).starts_with(&ours);
            let program = message["executable"].as_str().filter(|_| is_test && is_ours)?;
            Some((target["name"].as_str()?, program))
        })
    }

    fn server(&self) -> Result<&str> {
        let is_program = |message: &&Value| {
            message["target"]["name"] == "with-postgres" && message["profile"]["test"] == false
        };
        let program = self.messages.iter().find(is_program);
        let program = program.and_then(|program| program["executable"].as_str());
        program.context("the tests are built without the program `with-postgres`")
    }
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

/// Installs Debian's packages, as root or through sudo.
fn debian(packages: &[&str]) -> Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = as_root("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(&mut apt(&["update", "--quiet", "--quiet"]))?;
    let mut all = vec!["install", "--yes", "--quiet", "--quiet", "--no-install-recommends"];
    all.extend(packages);
    match run(&mut apt(&all)) {
        Ok(()) => Ok(()),
        Err(error) => {
            bail!("could not install {} ({error}): install it by hand", packages.join(", "))
        }
    }
}

/// This program, as root or through sudo.
fn as_root(program: &str) -> Command {
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
