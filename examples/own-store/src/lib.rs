//! cargo test -p own-store
//!
//! A store of one's own: the five traits over plain maps in memory. `tests/conformance.rs` checks
//! it with the suite that checks every store. Read it in the order a message travels.

mod act;
mod fleet;
mod inspect;
mod lanes;
mod lease;
mod limits;
mod maintain;
mod reclaim;
mod routes;
mod runs;
mod state;
mod table;
mod writer;

use std::sync::{Arc, Mutex};

use inbox::store::{Bell, StoreError, StoreErrorKind, StoreFuture};

use table::Table;

/// Keeps everything in memory. A clone is another connection to the same store.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    table: Arc<Mutex<Table>>,
    /// Rung by the table for what becomes ready.
    bell: Bell,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One verb. The lock makes it happen entirely or not at all, and nothing happens before the
    /// future is polled or after it is dropped: between the two it never waits.
    fn verb<'a, T: 'a>(
        &'a self,
        work: impl FnOnce(&mut Table) -> T + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let mut table = self.table.lock().map_err(|_| {
                let message = "a verb panicked halfway: start again with an empty store";
                StoreError::new(StoreErrorKind::Corrupt, message)
            })?;
            Ok(work(&mut table))
        })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        let table = Table::default();
        let bell = table.bell.clone();
        Self { table: Arc::new(Mutex::new(table)), bell }
    }
}
