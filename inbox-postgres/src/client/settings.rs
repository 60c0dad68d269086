use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use inbox_core::store::StoreError;
use tokio_postgres::IsolationLevel;

use super::Owner;
use crate::error::translate;
use crate::sql::SESSION;

/// What begins a transaction with these settings.
pub(super) fn begun_with(settings: &str) -> String {
    format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", local(settings))
}

/// The settings, and no more time than this for a statement.
pub(super) fn limited(settings: &str, limit: Duration) -> String {
    let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1);
    format!("{settings};\nSET statement_timeout = {limit}")
}

/// The same settings, for one transaction.
pub(super) fn local(settings: &str) -> String {
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
