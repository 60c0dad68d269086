use std::num::NonZeroU32;
use std::time::Duration;

use super::{CancelCause, HandlerError, Outcome};
use crate::policy::{HandlerOptions, RetryPolicy};
use crate::settle::{DeadReason, DoneOutcome, ErrorReport, Settlement};

/// How often a run is begun again whose transaction met another one.
const CONFLICTS: u32 = 4;

/// The pause before the first of these repetitions; it doubles.
const CONFLICT_PAUSE: Duration = Duration::from_millis(20);

/// How many attempts a delivery has, and what happens between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryLimits {
    /// So many attempts in all.
    pub max_attempts: NonZeroU32,
    /// So many workers that vanish with a quarantined delivery, in a row.
    pub max_crashes: NonZeroU32,
    /// What happens between them.
    pub retry: RetryPolicy,
}

impl Default for RetryLimits {
    /// 25 attempts, with the delays of [`RetryPolicy::default`], and 3 crashes.
    fn default() -> Self {
        let attempts = |more| NonZeroU32::MIN.saturating_add(more);
        Self { max_attempts: attempts(24), max_crashes: attempts(2), retry: RetryPolicy::default() }
    }
}

impl RetryLimits {
    /// What a handler asked for, and `self` for the rest.
    #[must_use]
    pub fn of(&self, options: &HandlerOptions) -> Self {
        Self {
            max_attempts: options.max_attempts.unwrap_or(self.max_attempts),
            max_crashes: options.max_crashes.unwrap_or(self.max_crashes),
            retry: options.retry.clone().unwrap_or_else(|| self.retry.clone()),
        }
    }
}

/// How often a delivery was tried, and what asked its last run to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tries {
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// How often the run was repeated at once within this attempt, after a failure.
    pub immediate: u32,
    /// How often this run was begun again, because its transaction met another one.
    pub conflicts: u32,
    /// Why the run was asked to stop, if it was.
    pub stopped: Option<CancelCause>,
}

/// What follows from an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The handler runs again after this time, within the same attempt.
    Repeat(Duration),
    /// The same run begins again after this time: its transaction met another one.
    BeginAgain(Duration),
    /// The attempt is over.
    Settle(Settlement),
}

/// Decides what follows from the outcome of a run. Everyone asks here: immediate retries, the host, and
/// the scope of a handler's transaction.
///
/// Depends on nothing but its arguments: `chance` is the jitter's, and delays are relative, so that the
/// store's clock alone says when.
#[must_use]
pub fn decide(tries: Tries, outcome: &Outcome, limits: &RetryLimits, chance: u64) -> Decision {
    let settlement = match outcome {
        Outcome::Completed => Settlement::Done(DoneOutcome::Completed),
        Outcome::Expired => Settlement::Done(DoneOutcome::Expired),
        Outcome::Cancel { .. } => Settlement::Done(DoneOutcome::Cancelled),
        Outcome::Discard { .. } => Settlement::Done(DoneOutcome::Discarded),
        Outcome::NotRun => Settlement::Release,
        Outcome::DeadLetter { reason } => Settlement::Dead {
            reason: DeadReason::GivenUp,
            error: ErrorReport::new(DeadReason::GivenUp.as_str(), reason.as_str()),
        },
        Outcome::Retry { after } => {
            let error = ErrorReport::new("retry", "the handler asked for another attempt");
            again(tries, *after, error, limits, chance)
        }
        Outcome::Snooze { after } => {
            let error = ErrorReport::new("snooze", "the handler snoozed its delivery");
            again(tries, Some(*after), error, limits, chance)
        }
        Outcome::Failed(error) => return failed(tries, error, limits, chance),
    };
    Decision::Settle(settlement)
}

fn failed(tries: Tries, error: &HandlerError, limits: &RetryLimits, chance: u64) -> Decision {
    let error = match error {
        HandlerError::Conflict(_) | HandlerError::TransactionNotBegun(_)
            if tries.stopped.is_none() && tries.conflicts < CONFLICTS =>
        {
            return Decision::BeginAgain(CONFLICT_PAUSE * 2_u32.pow(tries.conflicts));
        }
        HandlerError::Conflict(error) => error,
        HandlerError::InBatch { rest, .. } => rest,
        error => error,
    };
    let settlement = match error {
        // The same bytes and the same program give the same answer every time.
        HandlerError::Undecodable { .. } => {
            Settlement::Dead { reason: DeadReason::Undecodable, error: error.into() }
        }
        HandlerError::Unreadable { .. } => {
            Settlement::Dead { reason: DeadReason::Unreadable, error: error.into() }
        }
        // Nothing was committed. The lost ones are another worker's; the others of their run are as if
        // they had not been tried. Nor was one whose transaction could not be begun: an outage of the store
        // costs no attempt.
        HandlerError::LeaseLost { .. } | HandlerError::TransactionNotBegun(_) => {
            Settlement::Release
        }
        // The shutdown or an outage of the store cut it short, which is no fault of its own.
        _ if matches!(tries.stopped, Some(CancelCause::Shutdown | CancelCause::LeaseLost)) => {
            Settlement::Release
        }
        // What was perhaps committed must not be done again, unless a lease fences it.
        HandlerError::Unsure(_) => again(tries, None, error.into(), limits, chance),
        _ if tries.stopped.is_none() && tries.immediate < limits.retry.immediate => {
            return Decision::Repeat(limits.retry.immediate_delay);
        }
        _ => again(tries, None, error.into(), limits, chance),
    };
    Decision::Settle(settlement)
}

/// The next attempt, unless this was the last one.
fn again(
    tries: Tries,
    after: Option<Duration>,
    error: ErrorReport,
    limits: &RetryLimits,
    chance: u64,
) -> Settlement {
    if tries.attempt >= limits.max_attempts.get() {
        return Settlement::Dead { reason: DeadReason::AttemptsExhausted, error };
    }
    let after = after.unwrap_or_else(|| limits.retry.delay(tries.attempt, chance));
    Settlement::Retry { after, error }
}

#[cfg(test)]
mod tests;
