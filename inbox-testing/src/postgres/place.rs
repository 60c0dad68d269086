use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::path::PathBuf;

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

/// A port that nobody uses at the moment.
pub(super) fn port() -> Result<u16, PostgresError> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut ports = std::iter::repeat_with(|| fastrand::u16(PORTS)).take(TRIES);
    let none = || std::io::Error::from(std::io::ErrorKind::AddrInUse);
    ports.find(is_free).ok_or_else(none).map_err(io("could not find a free port"))
}
