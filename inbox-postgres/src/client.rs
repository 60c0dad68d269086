use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object, Transaction};
use futures_util::future::{BoxFuture, join_all, join3};
use futures_util::stream::TryStreamExt as _;
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::{Error, IsolationLevel, Row, Statement};

use crate::error::translate;
use crate::parameter::{Parameters, typed_values, values};
use crate::sql::{LOOK, SESSION, UNIT_THEIRS};
use crate::transaction::Transaction as HandlerTransaction;

/// Whose the connections of a pool are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Made by the store, with its settings.
    Store,
    /// Given to the store by the application, which has settings of its own.
    Application,
    /// A pooler's, which has another one for each transaction: nothing stays on it, neither a setting
    /// nor a statement. Nobody can stop a statement, so it takes no longer than this.
    Pooler(Duration),
}

/// Where a statement runs: on a connection of the pool, or beside it, or in a transaction of the
/// caller's.
#[derive(Clone, Copy)]
pub(crate) enum Client<'a> {
    Pooled(&'a ClientWrapper, Owner),
    Theirs(&'a tokio_postgres::Transaction<'a>),
    TheirsPooled(&'a Transaction<'a>),
    /// The transaction of a handler, when the store has the last word.
    TheirUnit(&'a HandlerTransaction),
    /// The same while the handler runs, whose statements are planned in another way.
    WithinUnit(&'a HandlerTransaction, Owner),
}

impl<'a> Client<'a> {
    /// A transaction on a connection of this owner: behind a pooler, statements have no names.
    pub(crate) fn of(transaction: &'a Transaction<'a>, owner: Owner) -> Self {
        match owner {
            Owner::Pooler(_) => Self::Theirs(transaction),
            Owner::Store | Owner::Application => Self::TheirsPooled(transaction),
        }
    }

    pub(crate) async fn query(
        self,
        text: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = match self {
            Self::Pooled(connection, Owner::Store) => {
                let statement = connection.prepare_cached(text).await.map_err(translate)?;
                named(connection, &statement, parameters).await
            }
            // In boxes, for the sake of the one above.
            Self::Pooled(connection, owner) => {
                Box::pin(ask(connection, owner, SESSION, text, parameters)).await
            }
            Self::Theirs(transaction) => {
                Box::pin(unnamed(transaction.client(), text, parameters)).await
            }
            Self::TheirsPooled(transaction) => {
                let statement = transaction.prepare_cached(text).await.map_err(translate)?;
                named(transaction.client(), &statement, parameters).await
            }
            // In boxes, so that others do not carry their size.
            Self::WithinUnit(transaction, Owner::Store) => {
                Box::pin(planned_as_ours(transaction, text, parameters)).await
            }
            Self::TheirUnit(transaction) | Self::WithinUnit(transaction, _) => {
                Box::pin(in_unit(transaction, text, parameters)).await
            }
        };
        rows.map_err(translate)
    }

    /// Runs a statement that answers one row.
    pub(crate) async fn query_one(
        self,
        text: &str,
        parameters: Parameters<'_>,
    ) -> Result<Row, StoreError> {
        let mut rows = self.query(text, parameters).await?;
        rows.pop().ok_or_else(|| StoreError::new(StoreErrorKind::Other, "there was no answer"))
    }

    /// Runs statements one after the other, in one transaction and one round trip: each sees what was
    /// committed before it. After an error nothing has happened.
    pub(crate) async fn query_all(
        self,
        statements: &[(&str, Parameters<'_>)],
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let answers = match self {
            Self::Pooled(connection, owner) => all_at_once(connection, owner, statements).await,
            Self::TheirUnit(transaction) | Self::WithinUnit(transaction, _) => {
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
    let begin = match owner {
        Owner::Store => "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned(),
        Owner::Application => begun_with(SESSION),
        Owner::Pooler(limit) => begun_with(&limited(SESSION, limit)),
    };
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
async fn prepared(
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
async fn sent(
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

/// What begins a transaction with these settings.
fn begun_with(settings: &str) -> String {
    format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", local(settings))
}

/// Runs a statement that lists, planned anew.
pub(crate) async fn look(
    connection: &ClientWrapper,
    owner: Owner,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, StoreError> {
    ask(connection, owner, LOOK, text, parameters).await.map_err(translate)
}

/// Runs a statement with these settings, whoever owns the connection.
async fn ask(
    connection: &ClientWrapper,
    owner: Owner,
    settings: &str,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, Error> {
    if let Owner::Pooler(limit) = owner {
        let settings = limited(settings, limit);
        return with_settings(&settings, connection, unnamed(connection, text, parameters)).await;
    }
    let statement = connection.prepare_cached(text).await?;
    with_settings(settings, connection, named(connection, &statement, parameters)).await
}

async fn named(
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

/// Runs a statement with these settings, and leaves none behind. Sent at once, so it is one round trip;
/// after an error the commit is a rollback.
async fn with_settings(
    settings: &str,
    connection: &ClientWrapper,
    statement: impl Future<Output = Result<Vec<Row>, Error>>,
) -> Result<Vec<Row>, Error> {
    let begin = begun_with(settings);
    let (beginning, rows, ended) =
        join3(connection.batch_execute(&begin), statement, connection.batch_execute("COMMIT"))
            .await;
    beginning?;
    let rows = rows?;
    ended?;
    Ok(rows)
}

/// The settings, and no more time than this for a statement.
fn limited(settings: &str, limit: Duration) -> String {
    let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1);
    format!("{settings};\nSET statement_timeout = {limit}")
}

/// Runs a statement in a handler's transaction.
async fn in_unit(
    transaction: &HandlerTransaction,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, Error> {
    if let Owner::Pooler(_) = transaction.store().inner().owner {
        return unnamed(transaction, text, parameters).await;
    }
    let statement = transaction.prepare_cached(text).await?;
    named(transaction, &statement, parameters).await
}

/// Runs a statement within a handler's transaction, with our settings, and leaves none behind; in one
/// round trip. After an error nothing can be done in the transaction, settings included.
async fn planned_as_ours(
    transaction: &HandlerTransaction,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, Error> {
    let statement = transaction.prepare_cached(text).await?;
    let ours = local(SESSION);
    let (beginning, rows, ended) = join3(
        transaction.batch_execute(&ours),
        named(transaction, &statement, parameters),
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
    let settings = match owner {
        Owner::Store => return Ok(transaction),
        Owner::Application => local(SESSION),
        Owner::Pooler(limit) => local(&limited(SESSION, limit)),
    };
    transaction.batch_execute(&settings).await.map_err(translate)?;
    Ok(transaction)
}
