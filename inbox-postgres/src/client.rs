use deadpool_postgres::Object;
use futures_util::future::join3;
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::{Row, Statement};

use crate::error::translate;
use crate::sql::SESSION;
use crate::store::Parameters;

/// Whose the connections of a pool are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Made by the store, with its settings.
    Store,
    /// Given to the store by the application, which has settings of its own.
    Application,
}

/// Where a statement runs: on a connection of the pool, or in a transaction of the caller's.
#[derive(Clone, Copy)]
pub(crate) enum Client<'a> {
    Pooled(&'a Object, Owner),
    Theirs(&'a tokio_postgres::Transaction<'a>),
    TheirsPooled(&'a deadpool_postgres::Transaction<'a>),
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
                    Owner::Application => with_settings(connection, &statement, parameters).await,
                }
            }
            Self::Theirs(transaction) => transaction.query(text, parameters).await,
            Self::TheirsPooled(transaction) => {
                let statement = transaction.prepare_cached(text).await.map_err(translate)?;
                transaction.query(&statement, parameters).await
            }
        };
        rows.map_err(translate)
    }
}

/// Runs a statement with the store's settings, and leaves none behind. Sent at once, so it is one
/// round trip; after an error the commit is a rollback.
async fn with_settings(
    connection: &Object,
    statement: &Statement,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let settings = format!("BEGIN; {}", local_settings());
    let (begun, rows, ended) = join3(
        connection.batch_execute(&settings),
        connection.query(statement, parameters),
        connection.batch_execute("COMMIT"),
    )
    .await;
    begun?;
    let rows = rows?;
    ended?;
    Ok(rows)
}

/// The store's settings, for one transaction.
pub(crate) fn local_settings() -> String {
    SESSION.replace("\nSET ", "\nSET LOCAL ")
}

/// A connection of the pool that is at work. Dropped before it is [`done`](Self::done), whatever it
/// was doing is cancelled and it does not go back: the next one to use it would wait behind that.
pub(crate) struct Working(Option<Object>);

impl Working {
    pub(crate) fn new(connection: Object) -> Self {
        Self(Some(connection))
    }

    pub(crate) fn get(&mut self) -> Result<&mut Object, StoreError> {
        self.0.as_mut().ok_or_else(|| StoreError::new(StoreErrorKind::Closed, "it was given back"))
    }

    /// Gives the connection back.
    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let Some(connection) = self.0.take() else { return };
        let connection = Object::take(connection);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let cancel = connection.cancel_token();
            runtime.spawn(async move {
                // Best effort: the server notices a closed connection by itself, only later.
                let _ = cancel.cancel_query(tokio_postgres::NoTls).await;
                drop(connection);
            });
        }
    }
}
