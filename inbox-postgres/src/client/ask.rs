use deadpool_postgres::ClientWrapper;
use futures_util::future::join3;
use futures_util::stream::TryStreamExt as _;
use inbox_core::store::StoreError;
use tokio_postgres::{Error, Row, Statement};

use super::Owner;
use super::settings::{Planning, begun_with};
use crate::error::translate;
use crate::parameter::{Parameters, typed_values, values};

/// Runs a statement that lists, planned anew.
pub(crate) async fn look(
    connection: &ClientWrapper,
    owner: Owner,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, StoreError> {
    ask(connection, owner, Planning::Lists, text, parameters).await.map_err(translate)
}

/// Runs a statement with these settings, whoever owns the connection.
pub(super) async fn ask(
    connection: &ClientWrapper,
    owner: Owner,
    planning: Planning,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, Error> {
    let begin = begun_with(planning, owner);
    if let Owner::Pooler(_) = owner {
        return with_settings(&begin, connection, unnamed(connection, text, parameters)).await;
    }
    let statement = connection.prepare_cached(text).await?;
    with_settings(&begin, connection, named(connection, &statement, parameters)).await
}

/// Runs a statement that the server knows by its name.
pub(super) async fn named(
    client: &tokio_postgres::Client,
    statement: &Statement,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, Error> {
    client.query_raw(statement, values(parameters)).await?.try_collect().await
}

/// Runs a statement that is sent whole, and leaves no name behind.
pub(crate) async fn unnamed(
    client: &tokio_postgres::Client,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, Error> {
    client.query_typed_raw(text, typed_values(parameters)).await?.try_collect().await
}

/// Runs a statement in a transaction that begins with its settings, and leaves none behind. Sent at once, so it is one round trip;
/// after an error the commit is a rollback.
async fn with_settings(
    begin: &str,
    connection: &ClientWrapper,
    statement: impl Future<Output = Result<Vec<Row>, Error>>,
) -> Result<Vec<Row>, Error> {
    let (beginning, rows, ended) =
        join3(connection.batch_execute(begin), statement, connection.batch_execute("COMMIT")).await;
    beginning?;
    let rows = rows?;
    ended?;
    Ok(rows)
}
