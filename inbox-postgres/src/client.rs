use deadpool_postgres::Object;
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::Row;

use crate::error::translate;
use crate::store::Parameters;

/// Where a statement runs: on a connection of ours, or in a transaction of the caller's.
#[derive(Clone, Copy)]
pub(crate) enum Client<'a> {
    Ours(&'a Object),
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
            Self::Ours(connection) => {
                let statement = connection.prepare_cached(text).await.map_err(translate)?;
                connection.query(&statement, parameters).await
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
