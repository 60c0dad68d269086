use std::time::Duration;

use inbox_core::dispatch::{Pipeline, dispose};
use inbox_core::settle::{Outcome, Settlement, decide};
use inbox_core::store::{
    DeliveryRecord, DeliveryState, LeaseLost, Settle, Store, StoreError, StoreErrorKind,
};

use super::PassReport;
use super::keep::Keeper;
use super::work::Work;
use crate::Inbox;

/// How often a write is repeated that failed for a reason which may pass.
const TRIES: u32 = 5;

impl<S: Store> Inbox<S> {
    /// Decides about each delivery, and writes it.
    pub(super) async fn settle(
        &self,
        pipeline: &Pipeline,
        (outcome, works): (Outcome, Vec<Work>),
        keeper: &mut Keeper<'_, S>,
        report: &mut PassReport,
    ) -> Result<(), StoreError> {
        let settles: Vec<_> = works
            .iter()
            .map(|work| {
                let random = fastrand::u64(..);
                let settlement = decide(&outcome, pipeline.chances(), work.attempt(), random);
                Settle { token: work.lease.token(), message_id: work.message_id, settlement }
            })
            .collect();
        // A user's error may do anything, even now.
        dispose(outcome);
        let written = self.write(&settles, &works, keeper).await?;
        for ((settle, written), work) in settles.iter().zip(written).zip(works) {
            if let (Err(_), Some(overdue)) = (written, keeper.overdue()) {
                let handler_key = &work.handler_key;
                tracing::warn!(
                    handler_key,
                    "the handler held its thread for {overdue:?}, so its lease could not be renewed: \
                     move blocking work to `tokio::task::spawn_blocking`"
                );
            }
            keeper.done(work.lease.token());
            report.add(written);
            log(settle, written, &work);
        }
        Ok(())
    }

    /// Writes settlements, again if need be. A handler has run: not to say so would run it twice.
    async fn write(
        &self,
        settles: &[Settle],
        works: &[Work],
        keeper: &mut Keeper<'_, S>,
    ) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
        let mut tried = 0;
        let mut unsure = false;
        loop {
            let now = self.scheduler().clock().now();
            let error = match self.store().settle(settles.to_vec(), now).await {
                Ok(written) if written.len() != settles.len() => {
                    let message = "the store did not answer for every delivery it was to settle";
                    return Err(StoreError::new(StoreErrorKind::Other, message));
                }
                Ok(written) if unsure => return self.looked_up(settles, works, written).await,
                Ok(written) => return Ok(written),
                Err(error) => error,
            };
            tried += 1;
            if !error.is_transient() || tried >= TRIES {
                return Err(error);
            }
            unsure |= error.kind() == StoreErrorKind::TimedOut;
            tracing::warn!(%error, tried, "could not settle, trying again");
            keeper.alongside(tokio::time::sleep(Duration::from_millis(50) * tried)).await;
        }
    }

    /// What a try wrote that got no answer looks like a lost lease to the next try.
    async fn looked_up(
        &self,
        settles: &[Settle],
        works: &[Work],
        mut written: Vec<Result<DeliveryState, LeaseLost>>,
    ) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
        for ((settle, work), written) in settles.iter().zip(works).zip(&mut written) {
            if written.is_ok() {
                continue;
            }
            let record = self.store().show(settle.message_id).await?;
            let mut deliveries = record.into_iter().flat_map(|record| record.deliveries);
            if let Some(found) = deliveries.find(|found| is_settled_as(found, work, settle)) {
                *written = Ok(found.state);
            }
        }
        Ok(written)
    }
}

/// Whether a delivery is where this attempt wanted it, or cancelled instead.
fn is_settled_as(delivery: &DeliveryRecord, work: &Work, settle: &Settle) -> bool {
    let states = [settle.settlement.state(), DeliveryState::Cancelled];
    let given_back = u32::from(settle.settlement == Settlement::Release);
    delivery.handler_key.as_deref() == Some(&work.handler_key)
        && states.contains(&delivery.state)
        && delivery.attempts + given_back == work.attempt()
}

fn log(settle: &Settle, written: Result<DeliveryState, LeaseLost>, work: &Work) {
    let (handler_key, message_id, attempt) = (&work.handler_key, work.message_id, work.attempt());
    match (&settle.settlement, written) {
        (_, Err(error)) => {
            tracing::warn!(handler_key, %message_id, attempt, %error, "not settled");
        }
        (Settlement::Done(_), Ok(state)) => {
            tracing::debug!(handler_key, %message_id, attempt, outcome = %state, "settled");
        }
        (
            Settlement::Retry { error, .. } | Settlement::Dead { error, .. },
            Ok(DeliveryState::Cancelled),
        ) => {
            tracing::info!(handler_key, %message_id, attempt, %error, "cancelled");
        }
        (Settlement::Retry { after, error }, Ok(_)) => {
            tracing::warn!(handler_key, %message_id, attempt, ?after, %error, "to be retried");
        }
        (Settlement::Dead { reason, error }, Ok(_)) => {
            tracing::error!(handler_key, %message_id, attempt, %reason, %error, "dead");
        }
        (Settlement::Release, Ok(state)) => {
            tracing::debug!(handler_key, %message_id, attempt, %state, "not tried after all");
        }
    }
}
