use std::pin::Pin;

use deadpool_postgres::Transaction;
use inbox_core::message::Envelope;
use inbox_core::schedule::ScheduleError;
use inbox_core::schedule::{BulkReceipt, BulkWriter, Envelopes};
use inbox_core::store::StoreError;
use inbox_core::{Now, Timestamp};

use crate::PostgresStore;
use crate::client::{Client, begin};
use crate::copy::Copy;
use crate::error::translate;
use crate::row::{column, timestamp};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;

/// Messages that are held in memory, and that one statement stores.
const PAGE: usize = 5_000;

/// Fewer, if their payloads are larger than this together.
const WEIGHT: usize = 8 * 1024 * 1024;

/// The next messages.
fn page(envelopes: &mut Envelopes<'_>) -> Result<Vec<Envelope>, ScheduleError> {
    let (mut page, mut weight) = (Vec::new(), 0);
    while page.len() < PAGE && weight < WEIGHT {
        let Some(envelope) = envelopes.next() else { break };
        let envelope = envelope?;
        weight += envelope.message.payload.as_bytes().len();
        page.push(envelope);
    }
    Ok(page)
}

impl BulkWriter for PostgresStore {
    fn accept_bulk<'a>(
        &'a self,
        mut envelopes: Envelopes<'a>,
        now: Now,
    ) -> Pin<Box<dyn Future<Output = Result<BulkReceipt, ScheduleError>> + Send + 'a>> {
        Box::pin(async move {
            let mut working = self.in_time(self.connection()).await?;
            let transaction = self.in_time(begin(working.get()?, self.inner().owner)).await?;
            // What the caller's commands are made from may take its time.
            let thinks = "SET LOCAL idle_in_transaction_session_timeout TO DEFAULT";
            self.in_time(async { transaction.batch_execute(thinks).await.map_err(translate) })
                .await?;
            let mut bulk =
                Bulk { store: self, transaction, now, receipt: BulkReceipt::default(), staged: 0 };
            loop {
                let page = page(&mut envelopes)?;
                if page.is_empty() {
                    break;
                }
                self.in_time(bulk.add(&page)).await?;
            }
            let receipt = bulk.finish().await?;
            working.done();
            self.ring_everywhere();
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
        let row = Client::Theirs(&self.transaction).query_one(clock, &[&moment(self.now)]).await?;
        timestamp(&row, 0).map_err(damaged)
    }

    /// Stores what was put aside, and commits.
    async fn finish(mut self) -> Result<BulkReceipt, StoreError> {
        let page = i64::try_from(PAGE).unwrap_or(i64::MAX);
        while self.staged > 0 {
            let accept = self.store.text(Sql::bulk_accept);
            let client = Client::Theirs(&self.transaction);
            let row = self.store.in_time(client.query_one(accept, &[&page])).await?;
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
