use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object, Transaction};
use futures_util::future::join3;
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio::time::timeout;
use tokio_postgres::{IsolationLevel, Row, Statement};
use tokio_util::task::TaskTracker;

use crate::error::translate;
use crate::sql::{SESSION, UNIT_THEIRS};
use crate::store::Parameters;
use crate::tls::Connector;
use crate::transaction::Transaction as HandlerTransaction;

/// Whose the connections of a pool are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Made by the store, with its settings.
    Store,
    /// Given to the store by the application, which has settings of its own.
    Application,
}

/// Where a statement runs: on a connection of the pool, or beside it, or in a transaction of the
/// caller's.
#[derive(Clone, Copy)]
pub(crate) enum Client<'a> {
    Pooled(&'a ClientWrapper, Owner),
    Theirs(&'a tokio_postgres::Transaction<'a>),
    TheirsPooled(&'a deadpool_postgres::Transaction<'a>),
    /// The transaction of a handler, when the store has the last word.
    TheirUnit(&'a HandlerTransaction),
    /// The same while the handler runs, whose statements are planned in another way.
    WithinUnit(&'a HandlerTransaction, Owner),
}

impl Client<'_> {
    pub(crate) async fn query(
        self,
        text: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = match self {
            Self::Pooled(connection, owner) => {
                let statement = connection.prepare_cached(text).await.map_err(translate)?;
                match owner {
                    Owner::Store => connection.query(&statement, parameters).await,
                    Owner::Application => {
                        with_settings(SESSION, connection, &statement, parameters).await
                    }
                }
            }
            Self::Theirs(transaction) => transaction.query(text, parameters).await,
            Self::TheirsPooled(transaction) => {
                let statement = transaction.prepare_cached(text).await.map_err(translate)?;
                transaction.query(&statement, parameters).await
            }
            Self::TheirUnit(transaction) | Self::WithinUnit(transaction, Owner::Application) => {
                let statement = transaction.prepare_cached(text).await.map_err(translate)?;
                transaction.query(&statement, parameters).await
            }
            Self::WithinUnit(transaction, Owner::Store) => {
                let statement = transaction.prepare_cached(text).await.map_err(translate)?;
                planned_as_ours(transaction, &statement, parameters).await
            }
        };
        rows.map_err(translate)
    }
}

/// Runs a statement with these settings, and leaves none behind. Sent at once, so it is one round trip;
/// after an error the commit is a rollback.
pub(crate) async fn with_settings(
    settings: &str,
    connection: &ClientWrapper,
    statement: &Statement,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let begin = format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", local(settings));
    let (beginning, rows, ended) = join3(
        connection.batch_execute(&begin),
        connection.query(statement, parameters),
        connection.batch_execute("COMMIT"),
    )
    .await;
    beginning?;
    let rows = rows?;
    ended?;
    Ok(rows)
}

/// Runs a statement within a handler's transaction, with our settings, and leaves none behind; in one
/// round trip. After an error nothing can be done in the transaction, settings included.
async fn planned_as_ours(
    transaction: &HandlerTransaction,
    statement: &Statement,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let ours = local(SESSION);
    let (beginning, rows, ended) = join3(
        transaction.batch_execute(&ours),
        transaction.query(statement, parameters),
        transaction.batch_execute(UNIT_THEIRS),
    )
    .await;
    beginning?;
    let rows = rows?;
    ended?;
    Ok(rows)
}

/// The same settings, for one transaction.
pub(crate) fn local(settings: &str) -> String {
    settings.replace("\nSET ", "\nSET LOCAL ")
}

/// Begins a transaction of the store's own, with its settings whoever owns the connection. Dropped before
/// its commit, it is rolled back.
pub(crate) async fn begin(
    connection: &mut Object,
    owner: Owner,
) -> Result<Transaction<'_>, StoreError> {
    let transaction = connection.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
    let transaction = transaction.start().await.map_err(translate)?;
    if owner == Owner::Application {
        transaction.batch_execute(&local(SESSION)).await.map_err(translate)?;
    }
    Ok(transaction)
}

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
    pub(crate) tasks: TaskTracker,
    pub(crate) limit: Duration,
}

impl Canceller {
    pub(crate) fn cancel(&self, connection: ClientWrapper) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (cancel, tls, limit) = (connection.cancel_token(), self.tls.clone(), self.limit);
        let cancelling = async move {
            // Best effort: the server notices a closed connection by itself, only later.
            let _ = timeout(limit, cancel.cancel_query(tls)).await;
            drop(connection);
        };
        self.tasks.spawn_on(cancelling, &runtime);
    }
}
