use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inbox::testing::postgres::PostgresDatabase;

use crate::http::{self, Answer};

/// Longer than anything here takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

/// One of the two programs, at work.
pub(crate) struct Program {
    process: Child,
    address: String,
}

impl Program {
    pub(crate) fn web(database: &PostgresDatabase) -> Self {
        Self::start(env!("CARGO_BIN_EXE_web"), database)
    }

    pub(crate) fn worker(database: &PostgresDatabase) -> Self {
        Self::start(env!("CARGO_BIN_EXE_worker"), database)
    }

    /// Starts it at a port that is free, which it prints.
    fn start(program: &str, database: &PostgresDatabase) -> Self {
        let mut command = Command::new(program);
        command.env("DATABASE_URL", database.url()).env("PORT", "0").stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at http://");
        let address = address.unwrap_or_else(|| panic!("{program} said {line:?}")).to_owned();
        Self { process, address }
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        http::ask(&self.address, method, path, body)
    }

    /// Asks it to stop, as a service manager does, and answers its exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let mut code = None;
        eventually("over", || {
            code = self.process.try_wait().unwrap();
            code.is_some()
        });
        code.and_then(|code| code.code())
    }
}

// Also when a test fails.
impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until it is so.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it is not {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
