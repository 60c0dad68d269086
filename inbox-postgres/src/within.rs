use std::fmt;
use std::sync::Arc;

use inbox_core::contract::Contract;
use inbox_core::message::Envelope;
use inbox_core::schedule::{Receipt, ScheduleError, ScheduleOptions, Scheduler, TransactionOf};
use inbox_core::store::{Accepted, StoreError, StoreErrorKind, Writer};

use crate::client::Client;
use crate::schedule::accept;
use crate::{PostgresStore, Transaction};

/// Schedules within a transaction of the application, `scheduler.within(&transaction)`, or of a handler,
/// `context.scheduler().within(tx)`.
///
/// The transaction must be on the store's own database. Under READ COMMITTED, PostgreSQL's default, a
/// message that another transaction is accepting at the same time is waited for; under stricter levels
/// that is an error of the kind `Busy`, and the transaction has to be begun again.
pub struct WithinTransaction<'t> {
    scheduler: Scheduler<PostgresStore>,
    client: Client<'t>,
}

impl WithinTransaction<'_> {
    /// Stores a command if and when the transaction commits.
    ///
    /// # Errors
    /// When no store would take it, its key conflicts, or the database refuses.
    pub async fn schedule<T: Contract>(
        &self,
        command: T,
        options: ScheduleOptions,
    ) -> Result<Receipt, ScheduleError> {
        let envelope = self.scheduler.prepare(&command, options)?;
        let accepted = self.store(std::slice::from_ref(&envelope)).await?;
        self.scheduler.receipt_of::<T>(&envelope, first(&accepted)?)
    }

    /// Stores what was prepared before, if and when the transaction commits.
    ///
    /// # Errors
    /// When its key conflicts, or the database refuses.
    pub async fn accept(&self, envelope: Envelope) -> Result<Receipt, ScheduleError> {
        let envelope = self.scheduler.encoded(envelope)?;
        let accepted = self.store(std::slice::from_ref(&envelope)).await?;
        self.scheduler.receipt(&envelope, first(&accepted)?)
    }

    async fn store(&self, envelopes: &[Envelope]) -> Result<Vec<Accepted>, StoreError> {
        let (store, now) = (self.scheduler.store(), self.scheduler.clock().now());
        let accepted = store.in_time(accept(store, self.client, envelopes, now)).await?;
        match self.client {
            // The store sees its commit.
            Client::WithinUnit(transaction, _) if transaction.store().is(store) => {
                transaction.scheduled();
            }
            _ => store.ring_until_committed(),
        }
        Ok(accepted)
    }
}

fn first(accepted: &[Accepted]) -> Result<&Accepted, StoreError> {
    accepted.first().ok_or_else(|| StoreError::new(StoreErrorKind::Other, "there was no answer"))
}

impl TransactionOf<PostgresStore> for tokio_postgres::Transaction<'_> {
    type Within<'t>
        = WithinTransaction<'t>
    where
        Self: 't;

    fn within(&self, scheduler: Scheduler<PostgresStore>) -> WithinTransaction<'_> {
        WithinTransaction { scheduler, client: Client::Theirs(self) }
    }
}

impl TransactionOf<PostgresStore> for deadpool_postgres::Transaction<'_> {
    type Within<'t>
        = WithinTransaction<'t>
    where
        Self: 't;

    fn within(&self, scheduler: Scheduler<PostgresStore>) -> WithinTransaction<'_> {
        let client = Client::of(self, scheduler.store().inner().owner);
        WithinTransaction { scheduler, client }
    }
}

impl TransactionOf<PostgresStore> for Transaction {
    type Within<'t> = WithinTransaction<'t>;

    fn within(&self, scheduler: Scheduler<PostgresStore>) -> WithinTransaction<'_> {
        WithinTransaction {
            scheduler,
            client: Client::WithinUnit(self, self.store().inner().owner),
        }
    }
}

/// For `context.scheduler()`, whose store is that of the transaction.
impl TransactionOf<dyn Writer> for Transaction {
    type Within<'t> = WithinTransaction<'t>;

    fn within(&self, scheduler: Scheduler) -> WithinTransaction<'_> {
        TransactionOf::<PostgresStore>::within(
            self,
            scheduler.with_store(Arc::new(self.store().clone())),
        )
    }
}

impl fmt::Debug for WithinTransaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithinTransaction").finish_non_exhaustive()
    }
}
