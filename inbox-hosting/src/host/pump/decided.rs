use std::sync::Arc;

use inbox_core::message::MessageId;
use inbox_core::outcome::HandlerError;
use inbox_core::outcome::{Decision, Outcome, RetryLimits, Tries, decide};
use inbox_core::request::{Attempt, HeldLease, LaneRun};
use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, LeaseLost, Settle};
use tracing::Span;

use crate::host::DeliveryInfo;

/// A delivery that this host holds, and what is to become of it.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(super) settle: Settle,
    pub(super) lease: HeldLease,
    /// The run that the delivery is one of.
    pub(super) run: Option<LaneRun>,
    handler_key: Arc<str>,
    attempt: u32,
    span: Span,
    /// The state that was written already, together with what the handler did.
    pub(super) written: Option<DeliveryState>,
}

impl Decided {
    /// What becomes of the delivery of `attempt`; nothing, if it is not stored.
    pub(super) fn new(attempt: &Attempt, settlement: Settlement) -> Option<Self> {
        Some(Self {
            settle: attempt.settle(settlement)?,
            lease: attempt.lease()?.clone(),
            run: attempt.run().cloned(),
            handler_key: attempt.handler_key(),
            attempt: attempt.delivery().attempt,
            span: attempt.span().clone(),
            written: None,
        })
    }

    /// The same where it was written already.
    pub(super) fn written(
        attempt: &Attempt,
        settlement: Settlement,
        state: DeliveryState,
    ) -> Option<Self> {
        Some(Self { written: Some(state), ..Self::new(attempt, settlement)? })
    }

    /// A row that cannot be read. There is no attempt to be made.
    pub(super) fn unreadable(lease: &HeldLease, message_id: MessageId, reason: String) -> Self {
        let outcome = Outcome::Failed(HandlerError::Unreadable { message_id, reason });
        let tries = Tries { attempt: 1, ..Tries::default() };
        let handler_key = &**lease.handler_key();
        Self {
            settle: Settle::by_id(
                lease.token(),
                message_id,
                decided(tries, &outcome, &RetryLimits::default()),
            ),
            lease: lease.clone(),
            // Of a lane, it is a run of its own.
            run: None,
            handler_key: Arc::clone(lease.handler_key()),
            attempt: 1,
            span: tracing::info_span!(target: "inbox::dispatch", "delivery", handler_key, %message_id),
            written: None,
        }
    }

    /// The run, if its settlements are written in its order.
    pub(super) fn lane(&self) -> Option<&LaneRun> {
        self.run.as_ref().filter(|run| run.is_lane())
    }

    pub(super) fn info(&self) -> DeliveryInfo {
        let handler_key = Arc::clone(&self.handler_key);
        DeliveryInfo { message_id: self.settle.message_id, handler_key, attempt: self.attempt }
    }

    /// The key that the delivery is stored under.
    pub(super) fn handler_key(&self) -> &str {
        &self.handler_key
    }

    /// Which attempt this was.
    pub(super) const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Says in the delivery's span what became of it.
    pub(super) fn log(&self, written: Result<DeliveryState, LeaseLost>) {
        let _entered = self.span.enter();
        match (&self.settle.settlement, written) {
            (_, Err(error)) => {
                tracing::warn!(target: "inbox::settle", %error, "lease lost before the settlement");
            }
            (Settlement::Release, Ok(state)) => {
                tracing::debug!(target: "inbox::settle", %state, "delivery released");
            }
            (Settlement::Done(_), Ok(state)) => {
                tracing::debug!(target: "inbox::settle", outcome = %state, "delivery settled");
            }
            (
                Settlement::Retry { error, .. } | Settlement::Dead { error, .. },
                Ok(DeliveryState::Cancelled),
            ) => {
                tracing::info!(target: "inbox::settle", %error, "delivery cancelled");
            }
            (Settlement::Retry { after, error }, Ok(_)) => {
                tracing::warn!(target: "inbox::settle", in = ?after, %error, "retry scheduled");
            }
            (Settlement::Dead { reason, error }, Ok(_)) => {
                tracing::error!(target: "inbox::settle", %reason, %error, "delivery dead-lettered");
            }
        }
    }

    /// Says that the store could not be told.
    pub(super) fn log_unwritten(&self, error: &inbox_core::store::StoreError) {
        let _entered = self.span.enter();
        tracing::error!(
            target: "inbox::settle",
            %error,
            "delivery not settled: it comes back when its lease expires"
        );
    }
}

/// What becomes of a delivery whose handler does not run.
pub(super) fn decided(tries: Tries, outcome: &Outcome, limits: &RetryLimits) -> Settlement {
    // Nothing ran that could be repeated at once.
    let tries = Tries { immediate: u32::MAX, conflicts: u32::MAX, ..tries };
    match decide(tries, outcome, limits, fastrand::u64(..)) {
        Decision::Settle(settlement) => settlement,
        Decision::Repeat(_) | Decision::BeginAgain(_) => Settlement::Release,
    }
}
