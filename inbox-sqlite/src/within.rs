use inbox_core::Timestamp;
use inbox_core::contract::Contract;
use inbox_core::message::Envelope;
use inbox_core::schedule::{Receipt, ScheduleError, ScheduleOptions, Scheduler, TransactionOf};
use inbox_core::store::{Accepted, StoreError};
use rusqlite::{Connection, Savepoint, Transaction};

use crate::SqliteStore;
use crate::error::translate;
use crate::schedule;

/// Schedules within a transaction of the application: `scheduler.within(&transaction)`.
///
/// The transaction must be on the store's own file. Begin it with
/// `TransactionBehavior::Immediate`: one that first reads and then writes fails where another
/// program has written in between. A handler gets a scheduler for it as
/// `State<Scheduler<SqliteStore>>`, which every inbox on SQLite provides.
///
/// ```
/// use inbox::sqlite::SqliteStore;
/// use inbox::sqlite::rusqlite::{Connection, TransactionBehavior};
/// use inbox::{ScheduleOptions, Scheduler, inbox_contract};
///
/// #[inbox_contract(name = "ship", version = 1)]
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Ship { order: i64 }
///
/// fn place(
///     connection: &mut Connection,
///     scheduler: &Scheduler<SqliteStore>,
///     order: i64,
/// ) -> Result<(), Box<dyn std::error::Error>> {
///     let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
///     transaction.execute("INSERT INTO orders (id) VALUES (?1)", [order])?;
///     scheduler.within(&transaction).schedule(Ship { order }, ScheduleOptions::new())?;
///     transaction.commit()?;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct WithinTransaction<'t> {
    scheduler: Scheduler<SqliteStore>,
    connection: &'t Connection,
}

impl WithinTransaction<'_> {
    /// Stores a command if and when the transaction commits.
    ///
    /// # Errors
    /// When no store would take it, its key conflicts, or SQLite fails.
    #[expect(clippy::needless_pass_by_value, reason = "as `Scheduler::schedule` takes it")]
    pub fn schedule<T: Contract>(
        &self,
        command: T,
        options: ScheduleOptions,
    ) -> Result<Receipt, ScheduleError> {
        let envelope = self.scheduler.prepare(&command, options)?;
        self.scheduler.receipt_of::<T>(&envelope, &self.store(&envelope)?)
    }

    /// Stores what was prepared before, if and when the transaction commits.
    ///
    /// # Errors
    /// When its key conflicts, or SQLite fails.
    pub fn accept(&self, envelope: Envelope) -> Result<Receipt, ScheduleError> {
        let envelope = self.scheduler.encoded(envelope)?;
        self.scheduler.receipt(&envelope, &self.store(&envelope)?)
    }

    fn store(&self, envelope: &Envelope) -> Result<Accepted, StoreError> {
        let now = self.scheduler.clock().now().or_else(Timestamp::now);
        self.try_store(envelope, now)
            .map_err(|error| translate(self.scheduler.store().place(), &error))
    }

    /// All of it or nothing, whatever the caller does about an error.
    fn try_store(&self, envelope: &Envelope, now: Timestamp) -> rusqlite::Result<Accepted> {
        self.connection.execute_batch("SAVEPOINT inbox_accept")?;
        let accepted = schedule::accept(self.connection, envelope, now);
        let end = match accepted {
            Ok(_) => "RELEASE inbox_accept",
            Err(_) => "ROLLBACK TO inbox_accept; RELEASE inbox_accept",
        };
        // What went wrong first is what the caller is told.
        let ended = self.connection.execute_batch(end);
        accepted.and_then(|accepted| ended.map(|()| accepted))
    }
}

impl TransactionOf<SqliteStore> for Transaction<'_> {
    type Within<'t>
        = WithinTransaction<'t>
    where
        Self: 't;

    fn within(&self, scheduler: Scheduler<SqliteStore>) -> WithinTransaction<'_> {
        WithinTransaction { scheduler, connection: self }
    }
}

impl TransactionOf<SqliteStore> for Savepoint<'_> {
    type Within<'t>
        = WithinTransaction<'t>
    where
        Self: 't;

    fn within(&self, scheduler: Scheduler<SqliteStore>) -> WithinTransaction<'_> {
        WithinTransaction { scheduler, connection: self }
    }
}
