use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use inbox_core::store::{Bell, StoreError, StoreErrorKind};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::SqliteOptions;
use crate::call::Work;
use crate::connection::{self, Place};
use crate::thread::{self, Calls, Task};
use crate::wait::{closed, in_time, received};
use crate::wake::{Moved, Rings};

/// The embedded store. Clones are one store; the last one to go closes it.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

/// The same, for those who do not keep it open.
pub(crate) struct WeakStore {
    inner: Weak<Inner>,
}

impl WeakStore {
    pub(crate) fn upgrade(&self) -> Option<SqliteStore> {
        self.inner.upgrade().map(|inner| SqliteStore { inner })
    }
}

struct Inner {
    place: Place,
    /// None in memory, where no disk and no other process can be slow.
    call_timeout: Option<Duration>,
    calls: Calls,
    /// A thread for what only reads, so that a long list keeps no lease from being renewed.
    reads: Option<Calls>,
    bell: Bell,
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
        Ok(Self {
            inner: Arc::new(Inner { place, call_timeout, calls, reads, bell: Bell::default() }),
        })
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

    fn reads(&self) -> &Calls {
        self.inner.reads.as_ref().unwrap_or(&self.inner.calls)
    }

    /// The inside of the store, which lives as long as its last clone.
    pub(crate) fn downgrade(&self) -> WeakStore {
        WeakStore { inner: Arc::downgrade(&self.inner) }
    }

    pub(crate) fn the_bell(&self) -> &Bell {
        &self.inner.bell
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.call(self.reads(), true, None, work).await
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.call(self.calls(), false, None, work).await
    }

    /// The same, and rings if something may be ready then.
    pub(crate) async fn write_and_ring<T: Moved + Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.call(self.calls(), false, Some(Rings::new(self.the_bell())), work).await
    }

    /// Reads on the connection that writes.
    pub(crate) async fn read_as_writer<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.call(self.calls(), true, None, work).await
    }

    async fn call<T: Send + 'static>(
        &self,
        calls: &Calls,
        reads_only: bool,
        rings: Option<Rings<T>>,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Inner { place, call_timeout, .. } = &*self.inner;
        let (reply, answer) = oneshot::channel();
        let call = Work { reads_only, code: work, rings, result: None, reply };
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

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteStore").field(&self.inner.place).finish()
    }
}
