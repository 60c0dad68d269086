//! The embedded store: SQLite in a file or in memory, for the first run, for tests and for programs
//! that live on one machine.
//!
//! Read in the order a message travels: `schedule` (accept, within a caller's transaction too),
//! `lease` (`look` is what a claim sees, `run` what it takes of a lane), `settle`; then `maintain` and
//! `inspect`. Whose turn it is in a lane is decided in `lanes` alone. Each statement is a file in `queries`.
//! What writes runs on one thread of the store's own (`thread`), which groups what arrives together into one
//! commit; what only reads has a thread beside it. Several processes may use one file; each waits for the
//! other's writes.

mod act;
mod call;
mod claim;
mod connection;
mod delivery;
mod error;
mod fleet;
mod held;
mod inspect;
mod lane_acts;
mod lanes;
mod lease;
mod look;
mod maintain;
mod migrate;
mod new;
mod options;
mod quarantine;
mod ready;
mod reclaim;
mod release;
mod room;
mod routes;
mod row;
mod run;
mod schedule;
mod settle;
mod sql;
mod store;
mod thread;
mod wait;
mod wake;
mod within;

use std::path::Path;

use inbox_core::store::StoreError;

pub use options::SqliteOptions;
#[doc(no_inline)]
pub use rusqlite;
pub use store::SqliteStore;
pub use within::WithinTransaction;

/// Opens the store in the file at `path`, creating both where they are missing and bringing an older
/// schema up to date.
///
/// The file may be the application's own: the store's tables are named `inbox_…`. It is switched to
/// SQLite's write-ahead log, and stays so.
///
/// # Errors
/// When the file cannot be opened or written, or holds a schema that is newer than this program.
///
/// # Panics
/// Outside of a Tokio runtime with its clock enabled.
pub async fn open(path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
    SqliteOptions::new().open(path).await
}

/// A store that lives as long as its last clone.
///
/// # Errors
/// When there is no memory for it.
pub async fn in_memory() -> Result<SqliteStore, StoreError> {
    SqliteOptions::new().in_memory().await
}
