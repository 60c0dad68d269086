use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::user::ServerUser;
use super::{PostgresError, binaries};

/// How long a server may take to answer for the first time.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits for the end of its input, which comes when whoever started it is gone, for whatever reason.
/// Then it stops the server and removes its data, unless a failed test asked to keep them.
const KEEPER: &str = r#"
"$1/postgres" -D "$2/data" -k "$2" -p "$3" -h 127.0.0.1 -c max_connections=400 $4 \
    > "$2/log" 2>&1 &
server=$!
cat > /dev/null
kill -INT "$server"
wait "$server"
[ -e "$2/keep" ] || rm -rf "$2"
"#;

/// Fast, and gone after a power cut: tests need no more.
const VOLATILE: &str = "-c fsync=off -c full_page_writes=off";

/// As servers are run, with memory for a benchmark.
const DURABLE: &str = "-c fsync=on -c synchronous_commit=on -c shared_buffers=512MB";

/// A PostgreSQL server of one's own, gone when this value is dropped or its process ends.
#[derive(Debug)]
pub struct PostgresServer {
    keeper: Child,
    directory: PathBuf,
    port: u16,
}

impl PostgresServer {
    /// Starts a server with an empty database directory that flushes nothing to disk. As root, it runs
    /// as `postgres` or `nobody`.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start() -> Result<Self, PostgresError> {
        Self::start_with(VOLATILE)
    }

    /// Starts a server that keeps what it committed, for benchmarks.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start_durable() -> Result<Self, PostgresError> {
        Self::start_with(DURABLE)
    }

    fn start_with(settings: &str) -> Result<Self, PostgresError> {
        let binaries = binaries::directory()?;
        let user = ServerUser::find();
        let directory = make_directory(user)?;
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
        let port = free_port()?;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).args([&binaries, &directory]).arg(port.to_string());
        keeper.arg(settings);
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        user.runs(&mut keeper);
        let keeper = keeper.spawn().map_err(io("could not start a shell"))?;
        let server = Self { keeper, directory, port };
        server.wait_until_it_answers()?;
        Ok(server)
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

    fn wait_until_it_answers(&self) -> Result<(), PostgresError> {
        let deadline = Instant::now() + PATIENCE;
        // The last line of this file says so.
        let ready = self.directory.join("data/postmaster.pid");
        loop {
            let state = std::fs::read_to_string(&ready).unwrap_or_default();
            if state.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
                return Ok(());
            }
            if Instant::now() > deadline {
                let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                return Err(PostgresError::Silent {
                    directory: self.directory.clone(),
                    reason: log.lines().last().unwrap_or("there is no log").to_owned(),
                });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn make_directory(user: ServerUser) -> Result<PathBuf, PostgresError> {
    let name = format!("inbox-postgres-{}-{:08x}", std::process::id(), fastrand::u32(..));
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir(&directory).map_err(io("could not make a directory"))?;
    user.owns(&directory)?;
    Ok(directory)
}

/// A port that nobody uses at the moment.
fn free_port() -> Result<u16, PostgresError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(io("could not find a free port"))
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

fn io(what: &str) -> impl FnOnce(std::io::Error) -> PostgresError + use<> {
    let what = what.to_owned();
    move |source| PostgresError::Io { what, source }
}
