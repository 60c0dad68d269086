use super::{BulkReceipt, BulkWriter, OnConflict, ScheduleError, ScheduleOptions, Scheduler};
use crate::contract::Contract;
use crate::message::Envelope;

impl<S: BulkWriter> Scheduler<S> {
    /// Stores a great many commands, all or none, and answers how many were new. The iterator is
    /// asked for commands while they are stored, so that a million of them need little memory.
    ///
    /// What has an idempotency key is recognised if it was accepted before; whether its payload is
    /// the same is not compared.
    ///
    /// A load keeps no order among its commands that share an ordering key, if they have idempotency keys
    /// too: [`schedule_all`](Self::schedule_all) does.
    ///
    /// If the future is dropped before it is done, nothing is stored, unless the store was about to say
    /// that all is.
    ///
    /// # Errors
    /// When no store would take one of the commands, which is named by its number, or the store
    /// fails.
    pub async fn schedule_bulk<T: Contract, I>(
        &self,
        commands: I,
    ) -> Result<BulkReceipt, ScheduleError>
    where
        I: IntoIterator<Item = (T, ScheduleOptions)>,
        I::IntoIter: Send,
    {
        let numbered = (0..).zip(commands);
        let prepared = numbered.map(|(at, (command, options))| {
            let prepared = self.prepare(&command, options).and_then(comparable);
            prepared.map_err(|error| ScheduleError::InBulk { at, error: Box::new(error) })
        });
        self.store().accept_bulk(Box::new(prepared), self.clock().now()).await
    }
}

fn comparable(envelope: Envelope) -> Result<Envelope, ScheduleError> {
    match envelope.on_conflict {
        OnConflict::KeepFirst => Ok(envelope),
        OnConflict::Refuse => Err(ScheduleError::NotInBulk { contract: envelope.message.contract }),
    }
}
