use deadpool_postgres::ClientWrapper;
use futures_util::future::{BoxFuture, join_all, join3};
use inbox_core::store::StoreError;
use tokio_postgres::{Error, Row, Statement};

use super::ask::{named, unnamed};
use super::settings::{Planning, begun_with};
use super::{Client, Owner};
use crate::error::translate;
use crate::parameter::Parameters;

impl Client<'_> {
    /// Runs statements one after the other, in one transaction and one round trip: each sees what was
    /// committed before it. After an error nothing has happened.
    pub(crate) async fn query_all(
        self,
        statements: &[(&str, Parameters<'_>)],
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let answers = match self {
            Self::Pooled(connection, owner) => all_at_once(connection, owner, statements).await,
            Self::WithinUnit(transaction, _) => {
                let owner = transaction.store().inner().owner;
                let prepared = prepared(transaction.connection(), owner, statements).await;
                let prepared = prepared.map_err(translate)?;
                sent(transaction, &prepared, statements).await
            }
            Self::Theirs(_) | Self::TheirsPooled(_) => {
                let mut answers = Vec::with_capacity(statements.len());
                for (text, parameters) in statements {
                    answers.push(self.query(text, parameters).await?);
                }
                return Ok(answers);
            }
        };
        answers.map_err(translate)
    }
}

/// Sends statements in one go, with their transaction around them.
async fn all_at_once(
    connection: &ClientWrapper,
    owner: Owner,
    statements: &[(&str, Parameters<'_>)],
) -> Result<Vec<Vec<Row>>, Error> {
    let prepared = prepared(connection, owner, statements).await?;
    let begin = begun_with(Planning::Ours, owner);
    let (beginning, answers, ended) = join3(
        connection.batch_execute(&begin),
        sent(connection, &prepared, statements),
        connection.batch_execute("COMMIT"),
    )
    .await;
    beginning?;
    let answers = answers?;
    ended?;
    Ok(answers)
}

/// The statements by their names; behind a pooler, where names are not remembered, none.
pub(crate) async fn prepared(
    connection: &ClientWrapper,
    owner: Owner,
    statements: &[(&str, Parameters<'_>)],
) -> Result<Vec<Statement>, Error> {
    let mut prepared = Vec::with_capacity(statements.len());
    if let Owner::Store | Owner::Application = owner {
        for (text, _) in statements {
            prepared.push(connection.prepare_cached(text).await?);
        }
    }
    Ok(prepared)
}

/// Sends statements in one go: the server takes them one after the other.
pub(crate) async fn sent(
    client: &tokio_postgres::Client,
    prepared: &[Statement],
    statements: &[(&str, Parameters<'_>)],
) -> Result<Vec<Vec<Row>>, Error> {
    let queries = statements.iter().enumerate().map(|(at, (text, parameters))| {
        let query: BoxFuture<'_, _> = match prepared.get(at) {
            Some(statement) => Box::pin(named(client, statement, parameters)),
            None => Box::pin(unnamed(client, text, parameters)),
        };
        query
    });
    join_all(queries).await.into_iter().collect()
}
