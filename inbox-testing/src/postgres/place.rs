use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::PostgresError;
use super::error::io;
use super::user::ServerUser;

/// Below those that systems give to outgoing connections: one of those could be taken while the server
/// restarts, even by a client that looks for it there.
const PORTS: Range<u16> = 20_000..32_000;

/// Ports that are tried before giving up.
const TRIES: usize = 100;

/// A new directory for a server's data and its log.
pub(super) fn directory(user: ServerUser) -> Result<PathBuf, PostgresError> {
    let name = format!("inbox-postgres-{}-{:08x}", std::process::id(), fastrand::u32(..));
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir(&directory).map_err(io("could not make a directory"))?;
    user.owns(&directory)?;
    Ok(directory)
}

/// What a server says whose port someone else has taken since it was found free.
const TAKEN: &str = "Address already in use";

/// Starts a server, and another one at another port as long as someone else takes its port first.
pub(super) fn started<T>(
    mut start: impl FnMut() -> Result<T, PostgresError>,
) -> Result<T, PostgresError> {
    for _ in 1..TRIES {
        match start() {
            Err(PostgresError::Silent { reason, .. }) if reason.contains(TAKEN) => {}
            answer => return answer,
        }
    }
    start()
}

/// The log of the server in this directory.
pub(super) fn log(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("log")).unwrap_or_default()
}

/// How often the server in this directory has found its port taken.
pub(super) fn taken(directory: &Path) -> usize {
    log(directory).matches(TAKEN).count()
}

/// The server in this directory does not come: what it said of its port, or else what it said last.
pub(super) fn silent(directory: &Path) -> PostgresError {
    let log = log(directory);
    let reason = log.lines().find(|line| line.contains(TAKEN)).or(log.lines().last());
    let reason = reason.unwrap_or("there is no log").to_owned();
    PostgresError::Silent { directory: directory.to_owned(), reason }
}

/// A port that nobody uses at the moment.
pub(super) fn port() -> Result<u16, PostgresError> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut ports = std::iter::repeat_with(|| fastrand::u16(PORTS)).take(TRIES);
    let none = || std::io::Error::from(std::io::ErrorKind::AddrInUse);
    ports.find(is_free).ok_or_else(none).map_err(io("could not find a free port"))
}
