use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use inbox_core::store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, ErrorCode};

use crate::error::translate;
use crate::{SqliteOptions, migrate};

/// Where a store is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    File(PathBuf),
    Memory,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "the store `{}`", path.display()),
            Self::Memory => f.write_str("the store in memory"),
        }
    }
}

/// Opens the store, with the schema of this program.
pub(crate) fn open(place: &Place, options: &SqliteOptions) -> Result<Connection, StoreError> {
    check_directory(place)?;
    let failed = |error| translate(place, &error);
    let mut connection = match place {
        Place::File(path) => Connection::open(path),
        Place::Memory => Connection::open_in_memory(),
    }
    .map_err(failed)?;
    prepare(&connection, options).map_err(failed)?;
    migrate::to_latest(place, &mut connection)?;
    Ok(connection)
}

/// Opens the store once more, for reading only. What reads never waits for what writes.
pub(crate) fn open_reader(
    place: &Place,
    options: &SqliteOptions,
) -> Result<Connection, StoreError> {
    let failed = |error| translate(place, &error);
    let Place::File(path) = place else {
        // Memory has one connection.
        return Err(StoreError::new(StoreErrorKind::Other, "memory cannot be opened twice"));
    };
    let connection = Connection::open(path).map_err(failed)?;
    let prepared = (|| {
        connection.busy_timeout(longest(options.busy_timeout))?;
        connection.set_prepared_statement_cache_capacity(16);
        connection.pragma_update(None, "query_only", true)
    })();
    prepared.map(|()| connection).map_err(failed)
}

/// SQLite counts milliseconds in 31 bits, and its binding panics beyond.
fn longest(timeout: Duration) -> Duration {
    timeout.min(Duration::from_hours(24))
}

/// SQLite says the same of a missing directory as of everything else it cannot open.
fn check_directory(place: &Place) -> Result<(), StoreError> {
    let Place::File(path) = place else { return Ok(()) };
    if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
        // SQLite takes both for a database that is gone when it is closed.
        let message = "a store without a file's name would forget everything: give a path, or say \
                       so with `inbox::sqlite::in_memory()`";
        return Err(StoreError::new(StoreErrorKind::CannotOpen, message));
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            let parent = parent.display();
            let message =
                format!("{place} cannot be opened: the directory `{parent}` does not exist");
            Err(StoreError::new(StoreErrorKind::CannotOpen, message))
        }
        _ => Ok(()),
    }
}

fn prepare(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    connection.busy_timeout(longest(options.busy_timeout))?;
    // Every statement of the store and some of inspection fit.
    connection.set_prepared_statement_cache_capacity(96);
    use_write_ahead_log(connection, longest(options.busy_timeout))?;
    // A receipt means that the command survives a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    if let Some(bytes) = options.max_size {
        let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = u32::try_from(bytes.div_ceil(page.max(1).into())).unwrap_or(u32::MAX);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

/// Readers and one writer at a time, without waiting for each other.
///
/// SQLite does not wait when two connections change the mode at once, so this does.
fn use_write_ahead_log(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let deadline = Instant::now() + patience;
    loop {
        let changed = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match changed {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
}
