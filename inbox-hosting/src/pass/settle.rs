use std::time::Duration;

use inbox_core::dispatch::Pipeline;
use inbox_core::settle::Outcome;
use inbox_core::store::{DeliveryState, LeaseLost, Store, StoreError};

use super::PassReport;
use super::keep::Keeper;
use crate::Inbox;
use crate::work::{Judged, Unsure, Work, judge, log};

/// How often a write is repeated that failed for a reason which may pass.
const TRIES: u32 = 5;

impl<S: Store> Inbox<S> {
    /// Decides about each delivery, and writes it.
    pub(super) async fn conclude(
        &self,
        pipeline: &Pipeline,
        (outcome, works): (Outcome, Vec<Work>),
        keeper: &mut Keeper<'_, S>,
        report: &mut PassReport,
    ) -> Result<(), StoreError> {
        let judged = judge(pipeline, outcome, works);
        // All of a call were written together, or none.
        let written = match judged.iter().map(|one| one.written).collect() {
            Some(written) => written,
            None => self.write(&judged, keeper).await?,
        };
        for (judged, written) in judged.iter().zip(written) {
            if let (Err(_), Some(overdue)) = (written, keeper.overdue()) {
                let handler_key = &*judged.work.handler_key;
                tracing::warn!(
                    handler_key,
                    "the handler held its thread for {overdue:?}, so its lease could not be renewed: \
                     move blocking work to `tokio::task::spawn_blocking`"
                );
            }
            keeper.done(judged.settle.token);
            report.add(written);
            log(judged, written);
        }
        Ok(())
    }

    /// Writes settlements, again if need be.
    async fn write(
        &self,
        judged: &[Judged],
        keeper: &mut Keeper<'_, S>,
    ) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
        let (mut tried, mut unsure) = (0, Unsure::default());
        loop {
            let error = match self.settle(judged, &mut unsure).await {
                Ok(written) => return Ok(written),
                Err(error) => error,
            };
            tried += 1;
            if !error.is_transient() || tried >= TRIES {
                return Err(error);
            }
            tracing::warn!(%error, tried, "could not settle, trying again");
            keeper.wait(Duration::from_millis(50) * tried).await;
        }
    }
}
