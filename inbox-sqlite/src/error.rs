use inbox_core::store::{StoreError, StoreErrorKind};
use rusqlite::ErrorCode;

use crate::connection::Place;

/// Says what SQLite's `error` means for the store at `place`, and what to do about it.
pub(crate) fn translate(place: &Place, error: &rusqlite::Error) -> StoreError {
    let said = said(error);
    let (kind, what) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            StoreErrorKind::Busy,
            "is locked by another connection for longer than the busy timeout: if that is a \
             transaction of this program, schedule within it, `scheduler.within(&transaction)`; if it \
             is another program, shorten its transactions or raise `SqliteOptions::busy_timeout`",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            StoreErrorKind::ReadOnly,
            "cannot be written: give this user the right to write the file and its directory",
        ),
        Some(ErrorCode::DiskFull) => (
            StoreErrorKind::Full,
            "has no room left: free space on its disk, or raise `SqliteOptions::max_size`",
        ),
        Some(ErrorCode::CannotOpen) => (
            StoreErrorKind::CannotOpen,
            "cannot be opened: its path must name a file, in a directory that this user may use",
        ),
        Some(ErrorCode::NotADatabase) => {
            (StoreErrorKind::Corrupt, "is not a SQLite database: give another path")
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            (StoreErrorKind::Corrupt, "is damaged: restore it from a backup")
        }
        Some(ErrorCode::SystemIoFailure) => {
            (StoreErrorKind::Other, "cannot be read or written: the disk reports an error")
        }
        _ if said.contains("no such table: inbox_") => (
            StoreErrorKind::Schema,
            "has no tables of an inbox: open it with `inbox::sqlite::open` first, and begin the \
             transaction on a connection to that same file",
        ),
        _ if said.starts_with("table inbox_") && said.ends_with("already exists") => (
            StoreErrorKind::Schema,
            "has a table with the name of one of ours: rename it, or give the inbox another file",
        ),
        _ => (StoreErrorKind::Other, "refused a statement"),
    };
    StoreError::new(kind, format!("{place} {what}")).caused_by(said)
}

/// What SQLite said, without the statement it said it about.
fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}
