use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use inbox_core::schedule::{Acceptance, Receipt};
use inbox_core::{Clock, StoreClock, Timestamp};

use super::{Entry, History, LedgerLayer, line};

/// A file that processes append to: what happened, apart from what the store believes. Clones are
/// one ledger.
///
/// An entry is there as soon as the call that wrote it has returned, whatever happens to the
/// process afterwards. Only the machine itself may not fail.
#[derive(Clone)]
pub struct Ledger {
    path: Arc<Path>,
    file: Arc<File>,
    clock: Arc<dyn Clock>,
}

impl Ledger {
    /// Opens the ledger in the file at `path`, which is created if there is none.
    ///
    /// # Errors
    /// When the file cannot be opened for appending.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| explained(&error, "open", path))?;
        Ok(Self { path: path.into(), file: Arc::new(file), clock: Arc::new(StoreClock) })
    }

    /// The same ledger, its runs timed by the clock that the store is given. A clock that leaves
    /// the time to the store is taken to mean this machine's. While a clock stands still, runs take
    /// no time, so none of them overlap.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Reads what was written to the file at `path`, by whomever.
    ///
    /// # Errors
    /// When the file cannot be read. A line that is not whole is no error, but part of the
    /// [history](History::torn).
    pub fn read(path: impl AsRef<Path>) -> io::Result<History> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| explained(&error, "read", path))?;
        Ok(History::parse(&bytes))
    }

    /// Where the ledger is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to put around handlers, so that each of their runs is noted.
    #[must_use]
    pub fn layer(&self) -> LedgerLayer {
        LedgerLayer::new(self.clone())
    }

    /// Notes that a command was accepted, if its receipt says that it was new.
    ///
    /// # Panics
    /// As [`append`](Self::append) does.
    pub fn accepted(&self, receipt: &Receipt, ordering_key: Option<&str>) {
        if receipt.acceptance() == Acceptance::Accepted {
            self.append(&Entry::Accepted {
                message_id: receipt.message_id(),
                contract: receipt.contract().to_owned(),
                ordering_key: ordering_key.map(str::to_owned),
                at: receipt.accepted_at(),
            });
        }
    }

    /// Writes `entry` down.
    ///
    /// # Panics
    /// When it cannot be written: a test whose ledger has gaps proves nothing.
    pub fn append(&self, entry: &Entry) {
        // One write for each entry: the system does not let another one into its middle, and if
        // this process is killed only its last entry can be cut off.
        let written = (&*self.file).write_all(line::encode(entry).as_bytes());
        if let Err(error) = written {
            panic!("{}", explained(&error, "write to", &self.path));
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now().or_else(Timestamp::now)
    }
}

fn explained(error: &io::Error, verb: &str, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {verb} the ledger {}: {error}", path.display()))
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("path", &self.path).finish_non_exhaustive()
    }
}
