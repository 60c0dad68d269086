use std::sync::Arc;

use super::{Receipt, ScheduleError, ScheduleOptions, Scheduler};
use crate::contract::Contract;
use crate::message::Envelope;
use crate::store::{Accepted, StoreError, StoreErrorKind, Writer};

impl<S: Writer + ?Sized> Scheduler<S> {
    /// Stores a command. Once there is a receipt that it was accepted, it will be handled.
    ///
    /// If the future is dropped, the command may have been stored or not: schedule it again with
    /// the same idempotency key.
    ///
    /// # Errors
    /// When no store would take it, its key conflicts, or the store fails.
    pub async fn schedule<T: Contract>(
        &self,
        command: T,
        options: ScheduleOptions,
    ) -> Result<Receipt, ScheduleError> {
        let envelopes: Arc<[Envelope]> = [self.prepare(&command, options)?].into();
        let accepted = self.store().accept(Arc::clone(&envelopes), self.clock().now()).await?;
        match accepted.first() {
            Some(accepted) => self.receipt_of::<T>(&envelopes[0], accepted),
            None => Err(ScheduleError::Store(miscounted(1, 0))),
        }
    }

    /// Tells workers that what was scheduled [within](Scheduler::within) a transaction is committed,
    /// so that they look at once. Without it they find it a moment later.
    pub fn wake(&self) {
        self.store().wake();
    }

    /// Stores many commands at once, and answers for each in the order given: its receipt, or why
    /// it was not stored. The others are stored all the same.
    ///
    /// # Errors
    /// When the store fails. Then none is stored, unless it gave no answer in time: the kind
    /// `TimedOut` says that nobody knows, and only what has an idempotency key can be sent again.
    pub async fn schedule_all<T: Contract>(
        &self,
        commands: impl IntoIterator<Item = (T, ScheduleOptions)> + Send,
    ) -> Result<Vec<Result<Receipt, ScheduleError>>, StoreError> {
        let prepared =
            commands.into_iter().map(|(command, options)| self.prepare(&command, options));
        self.accept_as(prepared.collect(), Self::receipt_of::<T>).await
    }

    /// Stores envelopes of any contracts at once, as [`schedule_all`](Self::schedule_all) does.
    ///
    /// # Errors
    /// When the store fails. Then none is stored, unless it gave no answer in time: the kind
    /// `TimedOut` says that nobody knows, and only what has an idempotency key can be sent again.
    pub async fn accept_all(
        &self,
        prepared: Vec<Result<Envelope, ScheduleError>>,
    ) -> Result<Vec<Result<Receipt, ScheduleError>>, StoreError> {
        self.accept_as(prepared, Self::receipt).await
    }

    async fn accept_as(
        &self,
        prepared: Vec<Result<Envelope, ScheduleError>>,
        receipt: fn(&Self, &Envelope, &Accepted) -> Result<Receipt, ScheduleError>,
    ) -> Result<Vec<Result<Receipt, ScheduleError>>, StoreError> {
        let mut envelopes = Vec::with_capacity(prepared.len());
        let slots: Vec<_> = prepared
            .into_iter()
            .map(|prepared| {
                envelopes.push(self.encoded(prepared?)?);
                Ok(envelopes.len() - 1)
            })
            .collect();
        if envelopes.is_empty() {
            return Ok(slots.into_iter().filter_map(Result::err).map(Err).collect());
        }
        let envelopes: Arc<[Envelope]> = envelopes.into();
        let accepted = self.store().accept(Arc::clone(&envelopes), self.clock().now()).await?;
        if accepted.len() != envelopes.len() {
            return Err(miscounted(envelopes.len(), accepted.len()));
        }
        let receipt = |at: usize| receipt(self, &envelopes[at], &accepted[at]);
        Ok(slots.into_iter().map(|slot| slot.and_then(receipt)).collect())
    }
}

fn miscounted(asked: usize, answered: usize) -> StoreError {
    let message = format!("the store was given {asked} envelopes and answered for {answered}");
    StoreError::new(StoreErrorKind::Other, message)
}
