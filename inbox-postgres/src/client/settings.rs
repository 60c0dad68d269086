use deadpool_postgres::{Object, Transaction};
use inbox_core::store::StoreError;
use tokio_postgres::IsolationLevel;

use super::Owner;
use super::planning::{LISTS, OURS};
use crate::error::translate;

/// A worker that stalls between two statements of a transaction must not keep its locks.
const IDLE: (&str, &str) = ("idle_in_transaction_session_timeout", "'1min'");

/// What the settings of one transaction are for.
#[derive(Clone, Copy)]
pub(crate) enum Planning {
    /// The store's own statements.
    Ours,
    /// Lists for people.
    Lists,
}

/// The settings of a connection that is the store's own. The statements rely on the isolation, whatever the
/// database's default is: each sees what is committed when it begins.
pub(crate) fn session() -> String {
    set("SESSION", ours()) + "SET SESSION default_transaction_isolation = 'read committed'"
}

/// The settings for the store's own statements, for one transaction.
pub(super) fn local() -> String {
    set("LOCAL", ours())
}

/// The settings for a handler's own statements, which are planned as the database has it; and the handler may
/// think for as long as it likes.
pub(crate) fn theirs() -> String {
    let default = |(name, _)| format!("SET LOCAL {name} TO DEFAULT;\n");
    ours().map(default).collect::<Vec<_>>().concat()
}

/// What begins a transaction with these settings, and behind a pooler with the time that a statement may take.
pub(super) fn begun_with(planning: Planning, owner: Owner) -> String {
    let settings = match planning {
        Planning::Ours => brought(owner),
        Planning::Lists => set("LOCAL", LISTS.into_iter()) + &limit(owner),
    };
    format!("BEGIN ISOLATION LEVEL READ COMMITTED;\n{settings}")
}

/// What a transaction of the store needs on a connection of this owner.
fn brought(owner: Owner) -> String {
    match owner {
        Owner::Store => String::new(),
        Owner::Application | Owner::Pooler(_) => local() + &limit(owner),
    }
}

fn limit(owner: Owner) -> String {
    let Owner::Pooler(limit) = owner else { return String::new() };
    let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1);
    format!("SET LOCAL statement_timeout = {limit}")
}

fn ours() -> impl Iterator<Item = (&'static str, &'static str)> {
    OURS.into_iter().chain([IDLE])
}

fn set(scope: &str, settings: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let set = settings.map(|(name, value)| format!("SET {scope} {name} = {value};\n"));
    set.collect::<Vec<_>>().concat()
}

/// Begins a transaction of the store's own, with its settings whoever owns the connection. Dropped before
/// its commit, it is rolled back.
pub(crate) async fn begin(
    connection: &mut Object,
    owner: Owner,
) -> Result<Transaction<'_>, StoreError> {
    let transaction = connection.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
    let transaction = transaction.start().await.map_err(translate)?;
    if owner != Owner::Store {
        transaction.batch_execute(&brought(owner)).await.map_err(translate)?;
    }
    Ok(transaction)
}
