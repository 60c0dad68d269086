//! Handlers that take `&mut Transaction`: what they write and what becomes of their delivery is written
//! together.

mod begin;
mod commit;
mod error;
mod look_up;
mod scope;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::Object;
use inbox_core::provide::{Lend, Missing};
use tokio::sync::OwnedSemaphorePermit;
use tokio_postgres::{Client, Statement};

use crate::PostgresStore;
use crate::client::Owner;
use crate::working::Canceller;

pub(crate) use begin::turns;
pub use error::TransactionError;
pub(crate) use scope::TransactionScope;

/// The transaction of a handler that takes `&mut Transaction`.
///
/// What the handler writes in it, what it schedules [within](inbox_core::schedule::Scheduler::within) it,
/// and that its delivery is completed, is committed together when the handler returns; after an error, a
/// panic or a timeout, all is rolled back. So each of these effects happens exactly once. What the
/// handler does elsewhere may happen again.
///
/// It is the driver's client: `execute`, `query` and the rest work on it. It is READ COMMITTED, and
/// cannot be committed by the handler.
///
/// ```standalone_crate
/// use inbox::postgres::{Transaction, tokio_postgres};
/// use inbox::{handler, inbox_contract};
///
/// #[inbox_contract(name = "pay", version = 1)]
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Pay { account: i64, cents: i64 }
///
/// #[handler(key = "pay")]
/// async fn pay(command: Pay, tx: &mut Transaction) -> Result<(), tokio_postgres::Error> {
///     let book = "UPDATE account SET cents = cents + $2 WHERE id = $1";
///     tx.execute(book, &[&command.account, &command.cents]).await?;
///     Ok(())
/// }
/// ```
///
/// An error that the handler catches leaves the transaction useless, as PostgreSQL has it, and the
/// handler fails; with a savepoint it goes on:
///
/// ```no_run
/// # use inbox::postgres::{Transaction, tokio_postgres};
/// # async fn one(tx: &mut Transaction, id: i64) -> Result<(), tokio_postgres::Error> {
/// tx.batch_execute("SAVEPOINT one").await?;
/// if tx.execute("INSERT INTO receipt (id) VALUES ($1)", &[&id]).await.is_err() {
///     tx.batch_execute("ROLLBACK TO SAVEPOINT one").await?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct Transaction {
    // Before what watches over it, which is then the last to hold it.
    connection: Arc<Object>,
    open: Open,
    store: PostgresStore,
    mark: TransactionMark,
    /// The process of the server that it runs in.
    backend: Option<i32>,
    has_scheduled: AtomicBool,
    _turn: OwnedSemaphorePermit,
}

impl Transaction {
    /// Prepares a statement, unless this connection has done so before.
    ///
    /// # Errors
    /// When the database refuses it.
    pub async fn prepare_cached(&self, query: &str) -> Result<Statement, tokio_postgres::Error> {
        match self.store.inner().owner {
            // The next transaction may be on another connection of the server, where it has no name.
            Owner::Pooler(_) => self.connection.prepare(query).await,
            Owner::Store | Owner::Application => self.connection.prepare_cached(query).await,
        }
    }

    pub(crate) fn connection(&self) -> &Object {
        &self.connection
    }

    pub(crate) fn store(&self) -> &PostgresStore {
        &self.store
    }

    /// Something was scheduled, of which workers are told after the commit.
    pub(crate) fn scheduled(&self) {
        self.has_scheduled.store(true, Ordering::Relaxed);
    }

    /// Gives the connection back: the transaction is over.
    fn over(mut self) {
        self.open.connection = None;
    }

    /// Drops the connection, and lets the server finish what it is at.
    fn leave(mut self) {
        drop(self.connection);
        if let Some(connection) = self.open.connection.take().and_then(Arc::into_inner) {
            drop(Object::take(connection));
        }
    }
}

impl Deref for Transaction {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.connection
    }
}

impl Lend for Transaction {
    fn missing() -> Missing {
        Missing::Other {
            what: "no transaction can be had for `&mut inbox::postgres::Transaction`: the store of \
                   this inbox is not PostgreSQL"
                .to_owned(),
            fix: "open the inbox on `inbox::postgres::connect(url)`, or let the handler write without \
                  a transaction of the inbox and do no harm if it runs twice"
                .to_owned(),
        }
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

/// Tells one transaction from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TransactionMark(String);

/// Watches over a transaction: dropped while it is open, what it was doing is cancelled and its
/// connection does not go back, so that the server rolls it back.
struct Open {
    connection: Option<Arc<Object>>,
    canceller: Arc<Canceller>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().and_then(Arc::into_inner) {
            self.canceller.cancel(Object::take(connection));
        }
    }
}
