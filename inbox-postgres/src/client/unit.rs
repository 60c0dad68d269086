use futures_util::future::join3;
use tokio_postgres::{Error, Row};

use super::Owner;
use super::ask::{named, unnamed};
use super::settings::{local, theirs};
use crate::parameter::Parameters;
use crate::transaction::Transaction;

/// Runs a statement in a handler's transaction.
pub(super) async fn in_unit(
    transaction: &Transaction,
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
pub(super) async fn planned_as_ours(
    transaction: &Transaction,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, Error> {
    let statement = transaction.prepare_cached(text).await?;
    let (ours, theirs) = (local(), theirs());
    let (beginning, rows, ended) = join3(
        transaction.batch_execute(&ours),
        named(transaction, &statement, parameters),
        transaction.batch_execute(&theirs),
    )
    .await;
    beginning?;
    let rows = rows?;
    ended?;
    Ok(rows)
}
