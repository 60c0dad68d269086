use std::pin::Pin;

use deadpool_postgres::Transaction;
use inbox_core::message::Envelope;
use inbox_core::schedule::{ScheduleError, Start};
use inbox_core::store::{BulkReceipt, BulkWriter, Envelopes, StoreError};
use inbox_core::{Now, Timestamp};

use crate::PostgresStore;
use crate::client::{Owner, local_settings};
use crate::copy::Copy;
use crate::error::translate;
use crate::row::{column, timestamp};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;

/// Messages that are held in memory, and that one statement stores.
const PAGE: usize = 5_000;

impl BulkWriter for PostgresStore {
    fn accept_bulk<'a>(
        &'a self,
        mut envelopes: Envelopes<'a>,
        now: Now,
    ) -> Pin<Box<dyn Future<Output = Result<BulkReceipt, ScheduleError>> + Send + 'a>> {
        Box::pin(async move {
            let mut working = self.in_time(self.connection()).await?;
            let connection = working.get()?;
            // Dropped before its commit, it is rolled back.
            let begun = async { connection.transaction().await.map_err(translate) };
            let transaction = self.in_time(begun).await?;
            let mut bulk =
                Bulk { store: self, transaction, now, receipt: BulkReceipt::default(), staged: 0 };
            bulk.set_up().await?;
            loop {
                let page = envelopes.by_ref().take(PAGE).collect::<Result<Vec<_>, _>>()?;
                if page.is_empty() {
                    break;
                }
                self.in_time(bulk.add(&page)).await?;
            }
            let receipt = bulk.finish().await?;
            working.done();
            Ok(receipt)
        })
    }
}

/// One load, in one transaction.
struct Bulk<'a> {
    store: &'a PostgresStore,
    transaction: Transaction<'a>,
    now: Now,
    receipt: BulkReceipt,
    /// How many have been put aside for the sake of their keys.
    staged: i64,
}

impl Bulk<'_> {
    async fn set_up(&self) -> Result<(), StoreError> {
        if self.store.inner().owner == Owner::Application {
            self.execute(&local_settings()).await?;
        }
        Ok(())
    }

    async fn execute(&self, text: &str) -> Result<(), StoreError> {
        let executed = async { self.transaction.batch_execute(text).await.map_err(translate) };
        self.store.in_time(executed).await
    }

    /// Copies what has no key, and puts the rest aside.
    async fn add(&mut self, page: &[Envelope]) -> Result<(), StoreError> {
        let now = self.now().await?;
        let copy = Copy { store: self.store, transaction: &self.transaction, now };
        let is_keyed = |envelope: &&Envelope| envelope.message.idempotency_key.is_some();
        let (keyed, keyless): (Vec<_>, Vec<_>) = page.iter().partition(is_keyed);
        if !keyless.is_empty() {
            copy.messages(&keyless).await?;
            copy.deliveries(&keyless).await?;
            self.receipt.accepted += keyless.len() as u64;
        }
        if keyed.is_empty() {
            return Ok(());
        }
        if self.staged == 0 {
            let stage = self.store.text(Sql::bulk_stage);
            self.transaction.batch_execute(stage).await.map_err(translate)?;
        }
        self.staged = copy.aside(&keyed, self.staged).await?;
        Ok(())
    }

    /// The store's present.
    async fn now(&self) -> Result<Timestamp, StoreError> {
        let clock = self.store.text(Sql::bulk_clock);
        let row = self.transaction.query_one(clock, &[&moment(self.now)]).await;
        timestamp(&row.map_err(translate)?, 0).map_err(damaged)
    }

    /// Stores what was put aside, and commits.
    async fn finish(mut self) -> Result<BulkReceipt, StoreError> {
        let page = i64::try_from(PAGE).unwrap_or(i64::MAX);
        while self.staged > 0 {
            let accept = self.store.text(Sql::bulk_accept);
            let accepted =
                async { self.transaction.query_one(accept, &[&page]).await.map_err(translate) };
            let row = self.store.in_time(accepted).await?;
            let count = |at| column::<i64>(&row, at).map_err(damaged);
            let (taken, new) = (count(0)?, count(1)?);
            self.receipt.accepted += new.unsigned_abs();
            self.receipt.already_accepted += (taken - new).unsigned_abs();
            self.staged = if taken == 0 { 0 } else { self.staged - taken };
        }
        let commit = async { self.transaction.commit().await.map_err(translate) };
        self.store.in_time(commit).await?;
        Ok(self.receipt)
    }
}

/// From when on a message accepted at `now` may be handled.
pub(crate) fn due_at(start: Start, now: Timestamp) -> Timestamp {
    match start {
        Start::Immediately => now,
        Start::After(delay) => now.saturating_add(delay),
        Start::At(moment) => moment.max(now),
    }
}
