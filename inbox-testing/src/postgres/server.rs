use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::error::io;
use super::keeper::{Keeper, Stop};
use super::user::ServerUser;
use super::{PostgresError, binaries, place};

/// How long a server may take to answer on a busy machine, after a crash too.
const PATIENCE: Duration = Duration::from_mins(10);

/// Every test of a run may be at work at once, each with pools of its own.
const SHARED: [&str; 2] = ["listen_addresses=127.0.0.1", "max_connections=1000"];

/// Fast, and gone after a power cut: tests need no more.
const VOLATILE: [&str; 2] = ["fsync=off", "full_page_writes=off"];

/// As servers are run, with memory for a benchmark.
const DURABLE: [&str; 3] = ["fsync=on", "synchronous_commit=on", "shared_buffers=512MB"];

/// A PostgreSQL server of one's own, gone when this value is dropped or its process ends, even if it
/// is killed. When a test fails that owns it, its data are kept, and what to type to start it again is
/// printed.
///
/// ```no_run
/// use inbox_testing::postgres::PostgresServer;
///
/// # fn test() -> Result<(), inbox_testing::postgres::PostgresError> {
/// let mut server = PostgresServer::start()?;
/// let url = server.url("postgres");
/// // Let a program work on it; then see how it gets over an outage:
/// server.crash()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PostgresServer {
    keeper: Keeper,
    directory: PathBuf,
    port: u16,
}

/// What became of a server that was started.
enum Came {
    Answers,
    /// It has ended.
    FoundItsPortTaken,
}

impl PostgresServer {
    /// Starts a server with an empty database directory that flushes nothing to disk. As root, it runs
    /// as `postgres` or `nobody`.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start() -> Result<Self, PostgresError> {
        place::started(|| Self::start_with(&VOLATILE))
    }

    /// Starts a server that keeps what it committed, for benchmarks.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start_durable() -> Result<Self, PostgresError> {
        place::started(|| Self::start_with(&DURABLE))
    }

    fn start_with(settings: &[&str]) -> Result<Self, PostgresError> {
        let binaries = binaries::directory()?;
        let user = ServerUser::find();
        let directory = place::directory(user)?;
        run(
            user,
            Command::new(binaries.join("initdb")).arg("-D").arg(directory.join("data")).args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ]),
        )?;
        Self::serve(user, &binaries, directory, settings)
    }

    /// Starts a standby of this server: a copy that follows it, can be read, and takes its place after
    /// `SELECT pg_promote()`.
    ///
    /// # Errors
    /// When the data cannot be copied, or the standby does not start.
    pub fn standby(&self) -> Result<Self, PostgresError> {
        place::started(|| self.copy())
    }

    fn copy(&self) -> Result<Self, PostgresError> {
        let binaries = binaries::directory()?;
        let user = ServerUser::find();
        let directory = place::directory(user)?;
        let address = self.url("postgres");
        run(
            user,
            Command::new(binaries::beside(&binaries, "pg_basebackup"))
                .arg("-D")
                .arg(directory.join("data"))
                .args(["--dbname", &address, "--write-recovery-conf", "--checkpoint=fast"])
                .arg("--no-sync"),
        )?;
        Self::serve(user, &binaries, directory, &VOLATILE)
    }

    /// Starts a server on the data that are in `directory`.
    fn serve(
        user: ServerUser,
        binaries: &Path,
        directory: PathBuf,
        settings: &[&str],
    ) -> Result<Self, PostgresError> {
        let port = place::port()?;
        let settings = [&SHARED, settings].concat();
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut command = vec![shown(binaries.join("postgres"))];
        command.extend(["-D".to_owned(), shown(directory.join("data"))]);
        command.extend(["-k".to_owned(), shown(directory.clone())]);
        command.extend(["-p".to_owned(), port.to_string()]);
        command.extend(settings.iter().flat_map(|setting| ["-c", setting]).map(str::to_owned));
        let keeper = Keeper::start(user, &directory, "INT", command)?;
        let server = Self { keeper, directory, port };
        match server.wait_until_another_answers(None, 0)? {
            Came::Answers => Ok(server),
            Came::FoundItsPortTaken => Err(place::silent(&server.directory)),
        }
    }

    /// Stops it as an administrator would, ending every connection, and starts it again with the same
    /// data on the same port. Returns when it answers.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn restart(&mut self) -> Result<(), PostgresError> {
        self.stop_and_start(Stop::Fast)
    }

    /// Stops it at once, as if it were killed, and starts it again with the same data on the same port.
    /// What was committed is still there. Returns when it has recovered and answers.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn crash(&mut self) -> Result<(), PostgresError> {
        self.stop_and_start(Stop::Immediate)
    }

    fn stop_and_start(&mut self, stop: Stop) -> Result<(), PostgresError> {
        let before = self.ready_process();
        loop {
            let taken = place::taken(&self.directory);
            self.keeper.restart(stop)?;
            // Someone else may look whether its port is free, just when it comes back.
            if let Came::Answers = self.wait_until_another_answers(before.as_deref(), taken)? {
                return Ok(());
            }
        }
    }

    /// The address of one of its databases.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Leaves its data where they are when it stops.
    pub fn keep(&self) {
        // It is a help, and no more: a test that failed has failed.
        let _ = std::fs::write(self.directory.join("keep"), "");
    }

    /// Where its data and its log are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What to type in a shell to start it again once it has stopped, if its data were
    /// [kept](Self::keep). It is on the same port, so its addresses hold.
    #[must_use]
    pub fn command(&self) -> String {
        self.keeper.command()
    }

    /// Waits for a process that is not the one `before`, or for word that it found its port taken, which
    /// so many did by now.
    fn wait_until_another_answers(
        &self,
        before: Option<&str>,
        taken: usize,
    ) -> Result<Came, PostgresError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if self.ready_process().is_some_and(|process| Some(process.as_str()) != before) {
                return Ok(Came::Answers);
            }
            if place::taken(&self.directory) > taken {
                return Ok(Came::FoundItsPortTaken);
            }
            if Instant::now() > deadline {
                return Err(place::silent(&self.directory));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The server's process, once it answers: the first and the last line of its file say so.
    fn ready_process(&self) -> Option<String> {
        let state = std::fs::read_to_string(self.directory.join("data/postmaster.pid")).ok()?;
        let is_there = |line: &str| ["ready", "standby"].contains(&line.trim());
        let is_ready = state.lines().nth(7).is_some_and(is_there);
        state.lines().next().filter(|_| is_ready).map(str::to_owned)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.keep();
            eprintln!("start the server of the failed test again with: {}", self.command());
        }
    }
}

fn run(user: ServerUser, command: &mut Command) -> Result<(), PostgresError> {
    user.runs(command);
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir("/").output();
    let output = output.map_err(io(&format!("could not start {program}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(PostgresError::Failed { program, output: String::from_utf8_lossy(&said).into_owned() })
}
