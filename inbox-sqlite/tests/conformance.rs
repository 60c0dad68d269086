//! The suite that every store passes, on a file and in memory.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::Store;
use inbox_sqlite::{SqliteOptions, SqliteStore};
use inbox_testing::conformance::TestDatabase;
use tempfile::TempDir;

/// Nothing takes this long unless it never happens.
const PATIENCE: Duration = Duration::from_mins(10);

/// A file of its own; every connection is a store with a thread of its own, as in another process.
struct InFile(TempDir);

impl InFile {
    async fn new() -> Self {
        Self(TempDir::new().unwrap_or_else(|error| panic!("no directory: {error}")))
    }
}

impl TestDatabase for InFile {
    fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>> {
        Box::pin(async {
            // Whoever waits for others waits as long as a busy machine takes.
            let options = SqliteOptions::new().busy_timeout(PATIENCE).call_timeout(PATIENCE);
            match options.open(self.0.path().join("inbox.db")).await {
                Ok(store) => Arc::new(store) as Arc<dyn Store>,
                Err(error) => panic!("{error}"),
            }
        })
    }
}

/// Another connection to memory is a clone.
struct InMemory(SqliteStore);

impl InMemory {
    async fn new() -> Self {
        Self(inbox_sqlite::in_memory().await.unwrap_or_else(|error| panic!("{error}")))
    }
}

impl TestDatabase for InMemory {
    fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>> {
        Box::pin(async { Arc::new(self.0.clone()) as Arc<dyn Store> })
    }
}

mod in_file {
    use super::InFile;
    inbox_testing::conformance!(InFile::new);
}

mod in_memory {
    use super::InMemory;
    inbox_testing::conformance!(InMemory::new);
}
