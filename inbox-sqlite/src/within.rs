use inbox_core::Timestamp;
use inbox_core::contract::Contract;
use inbox_core::message::Envelope;
use inbox_core::schedule::{Joins, Receipt, ScheduleError, ScheduleOptions, Scheduler};
use rusqlite::{Connection, Savepoint, Transaction};

use crate::SqliteStore;
use crate::error::translate;
use crate::schedule;

/// Schedules within a transaction of the application: `scheduler.within(&transaction)`.
///
/// The transaction must be on the store's own file. Begin it with
/// `TransactionBehavior::Immediate`: one that first reads and then writes fails where another
/// program has written in between.
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
    pub fn schedule<T: Contract>(
        &self,
        command: &T,
        options: ScheduleOptions,
    ) -> Result<Receipt, ScheduleError> {
        let envelope = self.scheduler.prepare(command, options)?;
        self.accept(&envelope)
    }

    /// Stores what was prepared before, if and when the transaction commits.
    ///
    /// # Errors
    /// When its key conflicts, or SQLite fails.
    pub fn accept(&self, envelope: &Envelope) -> Result<Receipt, ScheduleError> {
        let now = self.scheduler.clock().now().or_else(Timestamp::now);
        let accepted = schedule::accept(self.connection, envelope, now)
            .map_err(|error| translate(self.scheduler.store().place(), &error))?;
        self.scheduler.receipt(envelope, &accepted)
    }
}

impl<'c> Joins<Transaction<'c>> for SqliteStore {
    type Joined<'t>
        = WithinTransaction<'t>
    where
        Transaction<'c>: 't;

    fn join<'t>(
        scheduler: Scheduler<Self>,
        transaction: &'t Transaction<'c>,
    ) -> WithinTransaction<'t> {
        WithinTransaction { scheduler, connection: transaction }
    }
}

impl<'c> Joins<Savepoint<'c>> for SqliteStore {
    type Joined<'t>
        = WithinTransaction<'t>
    where
        Savepoint<'c>: 't;

    fn join<'t>(scheduler: Scheduler<Self>, savepoint: &'t Savepoint<'c>) -> WithinTransaction<'t> {
        WithinTransaction { scheduler, connection: savepoint }
    }
}
