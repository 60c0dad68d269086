use inbox_core::dispatch::{Pipeline, dispose};
use inbox_core::handler::HandlerError;
use inbox_core::settle::{Outcome, Settlement, decide};
use inbox_core::store::{DeliveryState, LeaseLost, Settle};

use super::Work;

/// A delivery, and what is to become of it.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) work: Work,
    pub(crate) settle: Settle,
    /// What was written already, together with what the handler did.
    pub(crate) written: Option<Result<DeliveryState, LeaseLost>>,
}

impl Judged {
    pub(crate) fn new(work: Work, settlement: Settlement) -> Self {
        let settle = Settle { token: work.lease.token(), message_id: work.message_id, settlement };
        Self { work, settle, written: None }
    }
}

/// Decides about each delivery that the outcome concerns.
pub(crate) fn judge(pipeline: &Pipeline, outcome: Outcome, works: Vec<Work>) -> Vec<Judged> {
    let judged = works.into_iter().map(|work| {
        let settlement = decide(&outcome, pipeline.chances(), work.attempt(), fastrand::u64(..));
        let mut judged = Judged::new(work, settlement);
        judged.written = match &outcome {
            Outcome::Settled => Some(Ok(judged.settle.settlement.state())),
            Outcome::Failed(HandlerError::LeaseLost { .. }) => {
                Some(Err(LeaseLost(judged.settle.token)))
            }
            _ => None,
        };
        judged
    });
    let judged = judged.collect();
    // A user's error may do anything, even now.
    dispose(outcome);
    judged
}

/// Says what became of a delivery.
pub(crate) fn log(judged: &Judged, written: Result<DeliveryState, LeaseLost>) {
    let Judged { work, settle, .. } = judged;
    let (handler_key, message_id, attempt) = (&*work.handler_key, work.message_id, work.attempt());
    match (&settle.settlement, written) {
        (_, Err(error)) => {
            tracing::warn!(handler_key, %message_id, attempt, %error, "not settled");
        }
        (Settlement::Done(_), Ok(state)) => {
            tracing::debug!(handler_key, %message_id, attempt, outcome = %state, "settled");
        }
        (Settlement::Release, Ok(state)) => {
            tracing::debug!(handler_key, %message_id, attempt, %state, "not tried after all");
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
    }
}
