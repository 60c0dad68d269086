use deadpool::managed::Manager as _;
use deadpool_postgres::{ClientWrapper, PoolError};
use inbox_core::store::{StoreError, StoreErrorKind};

use crate::PostgresStore;
use crate::client::session;
use crate::client::{Client, Owner};
use crate::error::unreachable;

/// A connection beside the pool, made as the pool makes its own, on the runtime that asks for it.
pub(crate) struct Apart {
    store: PostgresStore,
    connection: Option<ClientWrapper>,
    /// Dropped now, it leaves a statement behind that nobody waits for.
    is_asked: bool,
}

impl Apart {
    pub(crate) async fn connect(store: &PostgresStore) -> Result<Self, StoreError> {
        let inner = store.inner();
        let failed = |error| unreachable(error, &inner.place);
        if inner.pool.is_closed() {
            return Err(failed(PoolError::Closed));
        }
        let made = inner.pool.manager().create().await;
        let made = made.map_err(|error| failed(PoolError::Backend(error)))?;
        let apart = Self { store: store.clone(), connection: Some(made), is_asked: false };
        // Of a pool that is the application's, nobody knows what stands before its server: there, each
        // statement brings the settings.
        if inner.owner == Owner::Store {
            let set = apart.get()?.batch_execute(&session()).await;
            set.map_err(|error| failed(PoolError::Backend(error)))?;
        }
        Ok(apart)
    }

    fn get(&self) -> Result<&ClientWrapper, StoreError> {
        let connection = self.connection.as_ref();
        connection.ok_or_else(|| StoreError::new(StoreErrorKind::Closed, "it was given up"))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.store.inner().pool.is_closed() || self.get().is_ok_and(|it| it.is_closed())
    }

    /// Takes note that an answer is under way until [`answered`](Self::answered).
    pub(crate) fn ask(&mut self) -> Result<Client<'_>, StoreError> {
        self.is_asked = true;
        Ok(Client::Pooled(self.get()?, self.store.inner().owner))
    }

    pub(crate) fn answered(&mut self) {
        self.is_asked = false;
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let inner = self.store.inner();
        // The manager remembers the statements of each connection it made.
        inner.pool.manager().detach(&mut connection);
        if self.is_asked {
            inner.canceller.cancel(connection);
        }
    }
}
