use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::{StoreError, StoreErrorKind};
use rusqlite::Connection;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::SqliteOptions;
use crate::call::Work;
use crate::connection::{self, Place};
use crate::thread::{self, Calls, Task};

/// The embedded store. Clones are one store; the last one to go closes it.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    place: Place,
    /// None in memory, where no disk and no other process can be slow.
    call_timeout: Option<Duration>,
    calls: Calls,
    /// A thread for what only reads, so that a long list keeps no lease from being renewed.
    reads: Option<Calls>,
}

impl SqliteStore {
    pub(crate) async fn start(place: Place, options: SqliteOptions) -> Result<Self, StoreError> {
        let call_timeout = match place {
            Place::File(_) => Some(options.call_timeout),
            Place::Memory => None,
        };
        let for_writing = options.clone();
        let open = move |place: &Place| connection::open(place, &for_writing);
        let calls = started("inbox-sqlite", &place, call_timeout, open).await?;
        let reads = match place {
            Place::File(_) => {
                let open = move |place: &Place| connection::open_reader(place, &options);
                Some(started("inbox-sqlite-read", &place, call_timeout, open).await?)
            }
            Place::Memory => None,
        };
        Ok(Self { inner: Arc::new(Inner { place, call_timeout, calls, reads }) })
    }

    /// Closes the store for all its clones, after the calls that are under way, and waits for it.
    /// Calls made later fail. Without it, the store closes by itself when the last clone is gone.
    pub async fn close(self) {
        for calls in self.inner.reads.iter().chain([&self.inner.calls]) {
            let (closing, is_closed) = oneshot::channel();
            if calls.send(Task::Close(closing)).await.is_ok() {
                // Answered, or dropped because another clone was faster: closed in either case.
                let _ = is_closed.await;
            }
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.inner.place
    }

    pub(crate) fn calls(&self) -> &Calls {
        &self.inner.calls
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.call(true, work).await
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.call(false, work).await
    }

    async fn call<T: Send + 'static>(
        &self,
        reads_only: bool,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Inner { place, call_timeout, calls, reads } = &*self.inner;
        let calls = reads.as_ref().filter(|_| reads_only).unwrap_or(calls);
        let (reply, answer) = oneshot::channel();
        let call = Work { reads_only, code: work, result: None, reply };
        let answered = async {
            calls.send(Task::Call(Box::new(call))).await.map_err(|_| closed(place))?;
            received(place, answer).await
        };
        in_time(place, *call_timeout, answered).await
    }
}

async fn started(
    name: &str,
    place: &Place,
    call_timeout: Option<Duration>,
    open: impl FnOnce(&Place) -> Result<Connection, StoreError> + Send + 'static,
) -> Result<Calls, StoreError> {
    let (calls, is_open) = thread::start(name, place.clone(), open).map_err(|error| {
        let message = format!("{place} cannot be opened: there is no thread for it");
        StoreError::new(StoreErrorKind::CannotOpen, message).caused_by(error)
    })?;
    in_time(place, call_timeout, received(place, is_open)).await?;
    Ok(calls)
}

async fn received<T: Send + 'static>(
    place: &Place,
    answer: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let answer = match place {
        Place::File(_) => answer.await.ok(),
        // A test may have paused the runtime's clock, which then runs on by itself unless some
        // blocking work is under way. Waiting for our thread is.
        Place::Memory => {
            let waiting = tokio::task::spawn_blocking(|| answer.blocking_recv().ok());
            waiting.await.ok().flatten()
        }
    };
    answer.unwrap_or_else(|| Err(closed(place)))
}

async fn in_time<T>(
    place: &Place,
    limit: Option<Duration>,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match limit {
        Some(limit) => timeout(limit, answer).await.unwrap_or_else(|_| Err(late(place, limit))),
        None => answer.await,
    }
}

fn closed(place: &Place) -> StoreError {
    StoreError::new(StoreErrorKind::Closed, format!("{place} was closed"))
}

fn late(place: &Place, after: Duration) -> StoreError {
    let message = format!(
        "{place} gave no answer within {after:?}, so what was asked may have happened or not: look, \
         or do it again with the same idempotency key"
    );
    StoreError::new(StoreErrorKind::TimedOut, message)
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteStore").field(&self.inner.place).finish()
    }
}
