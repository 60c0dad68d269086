use std::path::Path;
use std::time::Duration;

use inbox_core::store::StoreError;

use crate::SqliteStore;
use crate::connection::Place;

/// How a store is opened.
///
/// ```
/// # async fn open() -> Result<(), inbox::store::StoreError> {
/// use std::time::Duration;
///
/// let store = inbox::sqlite::SqliteOptions::new()
///     .busy_timeout(Duration::from_secs(10))
///     .open("inbox.db")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a store is opened with them"]
pub struct SqliteOptions {
    pub(crate) busy_timeout: Duration,
    pub(crate) call_timeout: Duration,
    pub(crate) max_size: Option<u64>,
}

impl SqliteOptions {
    /// Waits 5 seconds for other processes, 30 seconds for any answer; the file may grow.
    pub fn new() -> Self {
        let (busy_timeout, call_timeout) = (Duration::from_secs(5), Duration::from_secs(30));
        Self { busy_timeout, call_timeout, max_size: None }
    }

    /// How long to wait while another process writes.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// How long a caller waits for an answer, whatever the reason.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// The file never grows beyond so many bytes; what would not fit is an error.
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.max_size = Some(bytes);
        self
    }

    /// Opens the store in the file at `path`, creating both where they are missing.
    ///
    /// # Errors
    /// When the file cannot be opened or written, or holds a schema that is newer than this
    /// program.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        SqliteStore::start(Place::File(path.as_ref().to_owned()), self).await
    }

    /// A store that lives as long as its last clone.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub async fn in_memory(self) -> Result<SqliteStore, StoreError> {
        SqliteStore::start(Place::Memory, self).await
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self::new()
    }
}
