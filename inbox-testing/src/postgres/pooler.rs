use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::error::io;
use super::keeper::Keeper;
use super::user::ServerUser;
use super::{PostgresError, binaries, place};

/// How long it may take to answer on a busy machine.
const PATIENCE: Duration = Duration::from_mins(10);

/// A PgBouncer in transaction mode, before a server: a client has a connection of the server's for one
/// transaction, and another one for the next. It is gone when this value is dropped or its process
/// ends, even if it is killed.
///
/// It lets everyone in as whoever they say they are, if the server does.
#[derive(Debug)]
pub struct PgBouncer {
    _keeper: Keeper,
    port: u16,
}

impl PgBouncer {
    /// Starts one before the server that `config` names, for all its databases. Each user has at most
    /// `connections` to each database.
    ///
    /// # Errors
    /// When PgBouncer is not installed, does not start, or the server is not reached over TCP.
    pub fn before(config: &Config, connections: u32) -> Result<Self, PostgresError> {
        place::started(|| Self::start(config, connections))
    }

    fn start(config: &Config, connections: u32) -> Result<Self, PostgresError> {
        let program = binaries::pgbouncer()?;
        let user = ServerUser::find();
        let (directory, port) = (place::directory(user)?, place::port()?);
        let written = directory.join("pgbouncer.ini");
        let settings = settings(config, &directory, port, connections)?;
        std::fs::write(&written, settings).map_err(io("could not write its settings"))?;
        let users = users(config);
        std::fs::write(directory.join("users"), users).map_err(io("could not write its users"))?;
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        let command = vec![shown(program), shown(written)];
        let pooler = Self { _keeper: Keeper::start(user, &directory, "TERM", command)?, port };
        pooler.wait_until_it_answers(&directory)?;
        Ok(pooler)
    }

    /// How to connect through it to the database that `config` names.
    #[must_use]
    pub fn config(&self, config: &Config) -> Config {
        let mut through = Config::new();
        through.host(Ipv4Addr::LOCALHOST.to_string()).port(self.port);
        config.get_user().map(|user| through.user(user));
        config.get_password().map(|password| through.password(password));
        config.get_dbname().map(|database| through.dbname(database));
        through
    }

    /// The address of one of its databases, for this user.
    #[must_use]
    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}?pgbouncer=true", self.port)
    }

    fn wait_until_it_answers(&self, directory: &Path) -> Result<(), PostgresError> {
        let deadline = Instant::now() + PATIENCE;
        // Someone else may answer at this port: only its own log says that it is there.
        let listens = format!("listening on 127.0.0.1:{}", self.port);
        while !place::log(directory).contains(&listens) {
            if place::taken(directory) > 0 || Instant::now() > deadline {
                return Err(place::silent(directory));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

fn settings(
    config: &Config,
    directory: &Path,
    port: u16,
    connections: u32,
) -> Result<String, PostgresError> {
    let Some(Host::Tcp(host)) = config.get_hosts().first() else {
        let cause = std::io::Error::from(std::io::ErrorKind::Unsupported);
        return Err(io("the server is not reached over TCP")(cause));
    };
    let server = config.get_ports().first().copied().unwrap_or(5432);
    let admin = config.get_user().unwrap_or("postgres");
    let mut text = format!("[databases]\n* = host={host} port={server} auth_user={admin}\n");
    let users = directory.join("users");
    let lines = [
        "[pgbouncer]".to_owned(),
        format!("listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir ="),
        format!("auth_type = trust\nauth_file = {}", users.display()),
        // Whoever is made later is let in too.
        "auth_query = SELECT rolname, ''::text FROM pg_catalog.pg_roles WHERE rolname = $1"
            .to_owned(),
        "pool_mode = transaction\nmax_client_conn = 2000".to_owned(),
        format!("default_pool_size = {connections}"),
    ];
    for line in lines {
        // To write to a text cannot fail.
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}

/// The one user whose password is known, if there is one.
fn users(config: &Config) -> String {
    let user = config.get_user().unwrap_or("postgres");
    let password = config.get_password().map(String::from_utf8_lossy).unwrap_or_default();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    format!("{} {}\n", quoted(user), quoted(&password))
}
