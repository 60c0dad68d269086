use deadpool_postgres::Object;
use inbox_core::store::StoreError;
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
