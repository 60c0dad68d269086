use std::path::{Path, PathBuf};
use std::process::Command;

use super::PostgresError;

/// Where Debian puts the servers it installs, one directory for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The directory with `initdb` and `postgres`: on the path, where `pg_config` says, or Debian's
/// newest.
pub(super) fn directory() -> Result<PathBuf, PostgresError> {
    let found = on_path().into_iter().chain(from_pg_config()).chain(debian());
    let mut complete = found.filter(|directory| has_server(directory));
    complete.next().ok_or(PostgresError::NotInstalled)
}

/// Where Debian puts the pooler; the path of most users does not lead there.
const SBIN: &str = "/usr/sbin";

/// The pooler.
pub(super) fn pgbouncer() -> Result<PathBuf, PostgresError> {
    let places = on_path().into_iter().chain([PathBuf::from(SBIN)]);
    let mut found = places.map(|place| place.join("pgbouncer")).filter(|path| path.is_file());
    found.next().ok_or(PostgresError::NoPooler)
}

/// A program that belongs to the server in `directory`, which may hold links to where all are.
pub(super) fn beside(directory: &Path, program: &str) -> PathBuf {
    let linked = directory.join("postgres").canonicalize().ok();
    let linked = linked.as_deref().and_then(Path::parent).map(|real| real.join(program));
    let found = [Some(directory.join(program)), linked].into_iter().flatten();
    // If it is in neither, the path may have it.
    found.into_iter().find(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(program))
}

fn has_server(directory: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| directory.join(program).is_file())
}

fn on_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

fn from_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let directory = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(directory.trim()))
}

fn debian() -> Vec<PathBuf> {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let number = |path: &PathBuf| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
    let mut versions: Vec<_> = versions.map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
    versions.into_iter().map(|path| path.join("bin")).collect()
}
