//! Runs a command with a PostgreSQL server of its own: `with-postgres cargo test`.
//!
//! The command finds the server's address in `DATABASE_URL`; if there is one already, that server is
//! used and none is started. The server stops when the command has ended, or when this program or
//! whoever started it is gone, even if it was killed. When the command fails, the server's data are
//! kept, and what to type to look at them is printed.

use std::os::unix::process::{ExitStatusExt as _, parent_id};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::Duration;

use inbox_testing::postgres::PostgresServer;

/// What shells answer for a command that cannot be started.
const NOT_STARTED: u8 = 127;

/// How often it is seen whether the command has ended.
const GLANCE: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let parent = parent_id();
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else {
        eprintln!("say what to run: with-postgres COMMAND [ARGUMENTS]");
        return ExitCode::from(NOT_STARTED);
    };
    let mut command = Command::new(&program);
    command.args(words);
    let server = match std::env::var_os("DATABASE_URL") {
        Some(_) => None,
        None => match PostgresServer::start() {
            Ok(server) => Some(server),
            Err(error) => return failed("there is no server", &error),
        },
    };
    if let Some(server) = &server {
        command.env("DATABASE_URL", server.url("postgres"));
    }
    let ended = command.spawn().and_then(|child| end_of(child, parent));
    let status = match ended {
        Ok(Some(status)) => status,
        Ok(None) => return ExitCode::FAILURE,
        Err(error) => return failed(&format!("could not run {}", program.display()), &error),
    };
    if let Some(server) = server.filter(|_| !status.success()) {
        server.keep();
        eprintln!("start the server of the failed command again with: {}", server.command());
        eprintln!("remove its data with: rm -r {}", server.directory().display());
    }
    code(status)
}

/// Waits for the command to end. If whoever wanted it is gone, it is killed and has no end to tell of.
fn end_of(mut child: Child, parent: u32) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if parent_id() != parent {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(GLANCE);
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> ExitCode {
    eprintln!("{what}: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("because: {error}");
        cause = error.source();
    }
    ExitCode::from(NOT_STARTED)
}

/// As shells have it: a signal is told by a number above 128.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
