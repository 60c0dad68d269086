//! How statements reach the server: named or sent whole, with our settings or without, one or several at
//! once.

mod ask;
mod planning;
mod settings;
mod together;
mod unit;

use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Transaction};
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::Row;

use crate::error::translate;
use crate::parameter::Parameters;
use crate::transaction::Transaction as HandlerTransaction;

pub(crate) use ask::{look, unnamed};
pub(crate) use planning::OURS;
pub(crate) use settings::{begin, session, theirs};
pub(crate) use together::{prepared, sent};

use ask::{ask, named};
use settings::Planning;
use unit::{in_unit, planned_as_ours};

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
    /// The transaction of a handler while that runs, whose statements are planned in another way.
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
                Box::pin(ask(connection, owner, Planning::Ours, text, parameters)).await
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
            Self::WithinUnit(transaction, _) => {
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
}
