use std::num::NonZeroU32;

use super::{DeadReason, DoneOutcome, ErrorReport, Settlement};
use crate::handler::{HandlerError, HandlerOptions};
use crate::policy::RetryPolicy;

/// What came of one attempt.
#[derive(Debug)]
pub enum Outcome {
    /// The handler succeeded.
    Completed,
    /// The handler succeeded, and what became of its deliveries was written together with what it did.
    Settled,
    /// The message's deliver-by had passed, so the handler did not run.
    Expired,
    /// Someone cancelled the delivery before its handler ran.
    Cancelled,
    /// The row could not be read, so the handler did not run.
    Unreadable(String),
    /// The run failed.
    Failed(HandlerError),
}

impl From<Result<(), HandlerError>> for Outcome {
    fn from(result: Result<(), HandlerError>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Completed)
    }
}

/// How often and how a failed delivery is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chances {
    /// So many attempts in all.
    pub max_attempts: NonZeroU32,
    /// What happens between them.
    pub retry: RetryPolicy,
}

impl Default for Chances {
    /// 25 attempts, with the delays of [`RetryPolicy::default`].
    fn default() -> Self {
        Self { max_attempts: NonZeroU32::MIN.saturating_add(24), retry: RetryPolicy::default() }
    }
}

impl Chances {
    /// What a handler asked for, and `self` for the rest.
    #[must_use]
    pub fn of(&self, options: &HandlerOptions) -> Self {
        Self {
            max_attempts: options.max_attempts.unwrap_or(self.max_attempts),
            retry: options.retry.clone().unwrap_or_else(|| self.retry.clone()),
        }
    }
}

/// Decides what becomes of a delivery after its `attempt`, which is counted from 1.
///
/// Depends on nothing but its arguments: `random` is the jitter's chance, and delays are relative,
/// so that the store's clock alone says when.
#[must_use]
pub fn decide(outcome: &Outcome, chances: &Chances, attempt: u32, random: u64) -> Settlement {
    let error = match outcome {
        Outcome::Completed | Outcome::Settled => return Settlement::Done(DoneOutcome::Completed),
        Outcome::Expired => return Settlement::Done(DoneOutcome::Expired),
        Outcome::Cancelled => return Settlement::Done(DoneOutcome::Cancelled),
        Outcome::Unreadable(reason) => {
            let error = ErrorReport::new("unreadable", reason.as_str());
            return Settlement::Dead { reason: DeadReason::Unreadable, error };
        }
        Outcome::Failed(error) => error,
    };
    let report = ErrorReport::from(error);
    if matches!(error, HandlerError::Undecodable { .. }) {
        // The same bytes and the same program give the same answer every time.
        return Settlement::Dead { reason: DeadReason::Undecodable, error: report };
    }
    if attempt >= chances.max_attempts.get() {
        return Settlement::Dead { reason: DeadReason::AttemptsExhausted, error: report };
    }
    Settlement::Retry { after: chances.retry.delay(attempt, random), error: report }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::DecodeError;
    use crate::handler::Failure;
    use crate::message::MessageId;

    fn failed() -> Outcome {
        Outcome::Failed(HandlerError::Failed(Failure::new("no".to_owned())))
    }

    fn chances(max_attempts: u32) -> Chances {
        Chances { max_attempts: NonZeroU32::new(max_attempts).unwrap(), ..Chances::default() }
    }

    #[test]
    fn one_attempt_means_dead_on_the_first_failure() {
        let settlement = decide(&failed(), &chances(1), 1, 0);
        let Settlement::Dead { reason, error } = settlement else { panic!("{settlement:?}") };
        assert_eq!((reason, error.text.as_str()), (DeadReason::AttemptsExhausted, "no"));
    }

    #[test]
    fn every_failure_but_the_last_is_retried_after_the_policys_delay() {
        let chances = chances(3);
        for attempt in 1..=2 {
            let settlement = decide(&failed(), &chances, attempt, 7);
            let Settlement::Retry { after, .. } = settlement else { panic!("{settlement:?}") };
            assert_eq!(after, chances.retry.delay(attempt, 7));
        }
        // A count beyond the last, from a larger limit of an earlier deploy, ends it too.
        for attempt in [3, 4, u32::MAX] {
            let settlement = decide(&failed(), &chances, attempt, 7);
            assert!(matches!(settlement, Settlement::Dead { .. }), "{settlement:?}");
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_dead_at_once() {
        let error = DecodeError::OtherContract { expected: "a", found: "b".to_owned() };
        let message_id = MessageId::new();
        let outcome = Outcome::Failed(HandlerError::Undecodable { message_id, error });
        let settlement = decide(&outcome, &chances(9), 1, 0);
        let Settlement::Dead { reason, error } = settlement else { panic!("{settlement:?}") };
        assert_eq!(reason, DeadReason::Undecodable);
        assert!(error.text.contains("takes contract `a`"), "{error}");
    }

    #[test]
    fn success_expiry_and_cancellation_are_the_end_whatever_the_attempt() {
        for (outcome, expected) in [
            (Outcome::Completed, DoneOutcome::Completed),
            (Outcome::Settled, DoneOutcome::Completed),
            (Outcome::Expired, DoneOutcome::Expired),
            (Outcome::Cancelled, DoneOutcome::Cancelled),
        ] {
            for attempt in [1, 9] {
                let settlement = decide(&outcome, &chances(1), attempt, 0);
                assert_eq!(settlement, Settlement::Done(expected));
            }
        }
    }
}
