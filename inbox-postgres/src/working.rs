use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object};
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::tls::Connector;

/// A connection of the pool that is at work. Dropped before it is [`done`](Self::done), whatever it
/// was doing is cancelled and it does not go back: the next one to use it would wait behind that.
pub(crate) struct Working {
    connection: Option<Object>,
    canceller: Arc<Canceller>,
}

impl Working {
    pub(crate) fn new(connection: Object, canceller: Arc<Canceller>) -> Self {
        Self { connection: Some(connection), canceller }
    }

    pub(crate) fn get(&mut self) -> Result<&mut Object, StoreError> {
        let connection = self.connection.as_mut();
        connection.ok_or_else(|| StoreError::new(StoreErrorKind::Closed, "it was given back"))
    }

    /// The connection, for whoever watches over it from here on.
    pub(crate) fn keep(mut self) -> Result<Object, StoreError> {
        let connection = self.connection.take();
        connection.ok_or_else(|| StoreError::new(StoreErrorKind::Closed, "it was given back"))
    }

    /// Gives the connection back.
    pub(crate) fn done(mut self) {
        self.connection = None;
    }

    /// Gives the connection back, unless the answer says that it broke: the driver may not have noticed
    /// yet, and the next one to use it would.
    pub(crate) fn done_with<T>(mut self, answer: &Result<T, StoreError>) {
        let broke = |error: &StoreError| error.kind() == StoreErrorKind::TimedOut;
        match self.connection.take() {
            Some(connection) if answer.as_ref().is_err_and(broke) => {
                drop(Object::take(connection));
            }
            kept => drop(kept),
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.canceller.cancel(Object::take(connection));
        }
    }
}

/// Asks the server to stop what nobody waits for any more.
pub(crate) struct Canceller {
    /// The request goes over a connection of its own, which is encrypted like the others.
    pub(crate) tls: Connector,
    /// Not through a pooler: it is not the one who works, and PgBouncer 1.18 may end of it, with all its
    /// clients. There, the server stops by itself.
    pub(crate) asks: bool,
    pub(crate) tasks: TaskTracker,
    pub(crate) limit: Duration,
}

impl Canceller {
    pub(crate) fn cancel(&self, connection: ClientWrapper) {
        let runtime = tokio::runtime::Handle::try_current();
        let Some(runtime) = runtime.ok().filter(|_| self.asks) else { return };
        let (cancel, tls, limit) = (connection.cancel_token(), self.tls.clone(), self.limit);
        let cancelling = async move {
            // Best effort: the server notices a closed connection by itself, only later.
            let _ = timeout(limit, cancel.cancel_query(tls)).await;
            drop(connection);
        };
        self.tasks.spawn_on(cancelling, &runtime);
    }
}
