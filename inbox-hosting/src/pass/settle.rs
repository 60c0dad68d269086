use std::time::Duration;

use inbox_core::dispatch::Pipeline;
use inbox_core::settle::{Outcome, decide};
use inbox_core::store::{LeaseLost, Settle, Store, StoreError};

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
        let written = self.write(&settles, keeper).await?;
        for ((settle, written), work) in settles.iter().zip(written).zip(works) {
            keeper.done(work.lease.token());
            report.add(&settle.settlement, written.is_ok());
            log(settle, written, &work);
        }
        Ok(())
    }

    /// Writes settlements, again if need be. A handler has run: not to say so would run it twice.
    async fn write(
        &self,
        settles: &[Settle],
        keeper: &mut Keeper<'_, S>,
    ) -> Result<Vec<Result<(), LeaseLost>>, StoreError> {
        let mut tried = 0;
        loop {
            let now = self.scheduler().clock().now();
            let error = match self.store().settle(settles.to_vec(), now).await {
                Ok(written) => return Ok(written),
                Err(error) => error,
            };
            tried += 1;
            if !error.is_transient() || tried >= TRIES {
                return Err(error);
            }
            tracing::warn!(%error, tried, "could not settle, trying again");
            keeper.alongside(tokio::time::sleep(Duration::from_millis(50) * tried)).await;
        }
    }
}

fn log(settle: &Settle, written: Result<(), LeaseLost>, work: &Work) {
    use inbox_core::settle::Settlement;
    let (handler_key, message_id, attempt) = (&work.handler_key, work.message_id, work.attempt());
    match (&settle.settlement, written) {
        (_, Err(error)) => {
            tracing::warn!(handler_key, %message_id, attempt, %error, "not settled");
        }
        (Settlement::Done(outcome), Ok(())) => {
            let outcome = outcome.as_str();
            tracing::debug!(handler_key, %message_id, attempt, outcome, "settled");
        }
        (Settlement::Retry { after, error }, Ok(())) => {
            tracing::warn!(handler_key, %message_id, attempt, ?after, %error, "to be retried");
        }
        (Settlement::Dead { reason, error }, Ok(())) => {
            tracing::error!(handler_key, %message_id, attempt, %reason, %error, "dead");
        }
    }
}
