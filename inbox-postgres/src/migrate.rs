use std::time::Duration;

use inbox_core::store::{StoreError, StoreErrorKind};
use tokio::time::timeout;
use tokio_postgres::Transaction;
use tokio_postgres::error::SqlState;

use crate::PostgresStore;
use crate::client::{begin, unnamed};
use crate::error::{is_cancelled, translate};
use crate::schema::Schema;

/// One step of the schema. Once released, its text never changes.
pub(crate) struct Migration {
    pub(crate) version: i32,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "inbox", sql: include_str!("../migrations/0001_inbox.sql") },
    Migration {
        version: 2,
        name: "schedule",
        sql: include_str!("../migrations/0002_schedule.sql"),
    },
];

/// The table of what was applied.
pub(crate) const HISTORY: &str = include_str!("../migrations/history.sql");

impl PostgresStore {
    /// Creates the schema, or brings it to this program's version. Of many that try at once, one does
    /// it and the others find it done.
    ///
    /// # Errors
    /// When the schema is newer than this program, was changed by hand, or the database refuses; when
    /// it takes longer than [`migration_timeout`](crate::PostgresOptions::migration_timeout). Then
    /// nothing was changed.
    pub async fn ensure_schema(&self) -> Result<(), StoreError> {
        let mut working = self.in_time(self.connection()).await?;
        let transaction = self.in_time(begin(working.get()?, self.inner().owner)).await?;
        self.await_turn(&transaction).await?;
        let limit = self.inner().migration_timeout;
        let applied = timeout(limit, self.apply(&transaction)).await;
        applied.unwrap_or_else(|_| Err(self.too_slow()))?;
        self.in_time(async { transaction.commit().await.map_err(translate) }).await?;
        working.done();
        Ok(())
    }

    /// Waits until nobody else migrates this schema. The lock goes with the transaction, however that
    /// ends.
    async fn await_turn(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let (schema, limit) = (&self.inner().schema, self.inner().migration_timeout);
        // The server keeps the time while it waits, and may be slow to say so.
        self.in_time_and(limit, async {
            set_local(transaction, "lock_timeout", limit).await.map_err(translate)?;
            let longer = limit.saturating_add(self.call_timeout());
            set_local(transaction, "statement_timeout", longer).await.map_err(translate)?;
            let locked = unnamed(transaction.client(), LOCK, &[&lock_name(schema)]).await;
            locked.map(drop).map_err(|error| match is_lock_timeout(&error) {
                true => {
                    let message = format!(
                        "another program has been migrating the schema `{}` for longer than \
                         {limit:?}: let it end, or end its transaction, and do it again; nothing \
                         was changed",
                        schema.name
                    );
                    StoreError::new(StoreErrorKind::Busy, message).caused_by(error)
                }
                false => translate(error),
            })
        })
        .await
    }

    /// Applies what is missing, in `transaction`.
    async fn apply(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let schema = &self.inner().schema;
        let failed = |error| self.failed(error);
        // The server's word that there is no time left, of a statement that anyone asks.
        let late = |error| match is_cancelled(&error) {
            true => self.too_slow().caused_by(error),
            false => error,
        };
        // Whoever needs a table that a migration waits for waits behind it: no longer than for an
        // answer.
        let patience = self.call_timeout().min(self.inner().migration_timeout);
        set_local(transaction, "lock_timeout", patience).await.map_err(failed)?;
        let limit = self.inner().migration_timeout;
        set_local(transaction, "statement_timeout", limit).await.map_err(failed)?;
        if !self.has_history(transaction).await.map_err(late)? {
            transaction.batch_execute(&schema.create()).await.map_err(failed)?;
            transaction.batch_execute(&schema.fill(HISTORY)).await.map_err(failed)?;
        }
        let applied = self.applied(transaction).await.map_err(late)?;
        for &Migration { version, name, sql } in &MIGRATIONS[applied..] {
            transaction.batch_execute(&schema.fill(sql)).await.map_err(failed)?;
            let record = schema.fill(
                "INSERT INTO :schema.migration (version, name, checksum)
                 VALUES ($1, $2, encode(sha256(convert_to($3, 'UTF8')), 'hex'))",
            );
            let values: crate::store::Parameters<'_> = &[&version, &name, &sql];
            unnamed(transaction.client(), &record, values).await.map_err(failed)?;
            tracing::info!(schema = schema.name, version, name, "schema migrated");
        }
        Ok(())
    }

    fn failed(&self, error: tokio_postgres::Error) -> StoreError {
        match error.code() {
            Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                let message = format!(
                    "the schema `{}` is in use by a transaction that does not end: end it, and do \
                     it again; nothing was changed",
                    self.inner().schema.name
                );
                StoreError::new(StoreErrorKind::Busy, message).caused_by(error)
            }
            Some(&SqlState::QUERY_CANCELED) => self.too_slow().caused_by(error),
            _ => translate(error),
        }
    }

    fn too_slow(&self) -> StoreError {
        let message = format!(
            "the schema `{}` was not migrated within {:?}: allow it longer with \
             `PostgresOptions::migration_timeout`; nothing was changed",
            self.inner().schema.name,
            self.inner().migration_timeout
        );
        StoreError::new(StoreErrorKind::TimedOut, message)
    }
}

pub(crate) const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

pub(crate) fn lock_name(schema: &Schema) -> String {
    format!("inbox migration of {}", schema.name)
}

fn is_lock_timeout(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Sets a timeout for the rest of the transaction. None at all would be 0.
async fn set_local(
    transaction: &Transaction<'_>,
    setting: &str,
    limit: Duration,
) -> Result<(), tokio_postgres::Error> {
    let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1);
    transaction.batch_execute(&format!("SET LOCAL {setting} = {limit}")).await
}
