use std::collections::BTreeMap;
use std::time::Duration;

use super::HandlerError;
use crate::error::{Failure, HandlerFailure};

/// What an attempt at one delivery came to.
///
/// A handler may return it instead of `()`, also in a `Result`:
///
/// ```
/// use std::time::Duration;
/// use inbox::Outcome;
///
/// fn answer(status: u16) -> Outcome {
///     match status {
///         200 => Outcome::Completed,
///         404 => Outcome::discard("the customer is gone"),
///         429 => Outcome::retry_after(Duration::from_secs(60)),
///         _ => Outcome::dead_letter(format!("the gateway answered {status}")),
///     }
/// }
/// # assert!(matches!(answer(200), Outcome::Completed));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The handler succeeded.
    Completed,
    /// The handler wants another attempt. This one counts; after the last one the delivery is dead.
    Retry {
        /// How long the delivery waits; as long as the handler's retry policy says, if nothing is said.
        after: Option<Duration>,
    },
    /// The delivery is not to be handled yet.
    ///
    /// Until error policies are there, a snooze uses up an attempt like a retry.
    Snooze {
        /// How long the delivery waits.
        after: Duration,
    },
    /// There is nothing to do for the delivery, now or later.
    Discard {
        /// Why.
        reason: String,
    },
    /// The delivery is not wanted any more.
    Cancel {
        /// Why.
        reason: String,
    },
    /// No further attempt can succeed: the delivery becomes a dead letter at once.
    DeadLetter {
        /// Why.
        reason: String,
    },
    /// The attempt failed.
    Failed(HandlerError),
    /// The message's deliver-by had passed, so the handler did not run.
    Expired,
    /// The handler did not run, and the attempt does not count.
    NotRun,
}

impl Outcome {
    /// Another attempt after this time. This one counts.
    #[must_use]
    pub const fn retry_after(after: Duration) -> Self {
        Self::Retry { after: Some(after) }
    }

    /// Not yet: to be handled after this time.
    #[must_use]
    pub const fn snooze(after: Duration) -> Self {
        Self::Snooze { after }
    }

    /// Nothing to do, now or later.
    pub fn discard(reason: impl Into<String>) -> Self {
        Self::Discard { reason: reason.into() }
    }

    /// Not wanted any more.
    pub fn cancel(reason: impl Into<String>) -> Self {
        Self::Cancel { reason: reason.into() }
    }

    /// A dead letter at once: no further attempt can succeed.
    pub fn dead_letter(reason: impl Into<String>) -> Self {
        Self::DeadLetter { reason: reason.into() }
    }

    /// The attempt failed with this error. For one command of a batch; others return the error.
    pub fn failed<E: HandlerFailure>(error: E) -> Self {
        Self::Failed(HandlerError::Failed(Failure::new(error)))
    }
}

/// What one call of a handler came to, for each of its deliveries: the response of the `tower` service.
///
/// A call that failed as a whole is the service's error, as layers expect it.
#[derive(Debug)]
pub struct Outcomes(Kind);

#[derive(Debug)]
enum Kind {
    All(Outcome),
    Each(Vec<Outcome>),
    /// By the position of the delivery.
    AllBut(Outcome, BTreeMap<usize, Outcome>),
}

impl Outcomes {
    /// One for each delivery of the request, in its order.
    #[must_use]
    pub const fn each(outcomes: Vec<Outcome>) -> Self {
        Self(Kind::Each(outcomes))
    }

    /// One for all deliveries of the request but some, given by their position.
    pub(crate) const fn all_but(outcome: Outcome, others: BTreeMap<usize, Outcome>) -> Self {
        Self(Kind::AllBut(outcome, others))
    }

    /// What came of the delivery at this position of the request.
    #[must_use]
    pub fn at(&self, position: usize) -> &Outcome {
        match &self.0 {
            Kind::All(outcome) => outcome,
            // Whoever answers for fewer was refused before.
            Kind::Each(outcomes) => outcomes.get(position).unwrap_or(&Outcome::NotRun),
            Kind::AllBut(outcome, others) => others.get(&position).unwrap_or(outcome),
        }
    }

    /// The same, if there is one for each of so many deliveries: given back untried, a delivery that a layer
    /// says nothing of would run again for ever.
    pub(crate) fn for_all_of(self, deliveries: usize) -> Result<Self, HandlerError> {
        match &self.0 {
            Kind::Each(outcomes) if outcomes.len() != deliveries => {
                Err(HandlerError::WrongCount { given: deliveries, returned: outcomes.len() })
            }
            _ => Ok(self),
        }
    }

    /// Why a single delivery was not handled, where nobody tries it again.
    #[must_use]
    pub fn into_error(self) -> Option<HandlerError> {
        let outcome = match self.0 {
            Kind::All(outcome) | Kind::AllBut(outcome, _) => Some(outcome),
            Kind::Each(outcomes) => outcomes.into_iter().next(),
        };
        let reason = match outcome? {
            Outcome::Failed(error) => return Some(error),
            Outcome::DeadLetter { reason } => reason,
            Outcome::Retry { .. } | Outcome::Snooze { .. } => {
                "the handler asked for another attempt".to_owned()
            }
            _ => return None,
        };
        Some(HandlerError::Failed(Failure::new(reason)))
    }

    /// Puts `others` in between, at their positions among all deliveries of a batch of `count`.
    pub(crate) fn with(self, others: BTreeMap<usize, Outcome>, count: usize) -> Self {
        let mut outcomes = match self.0 {
            Kind::All(outcome) | Kind::AllBut(outcome, _) => return Self::all_but(outcome, others),
            Kind::Each(outcomes) => outcomes.into_iter(),
        };
        let mut others = others;
        let each = (0..count).map(|at| others.remove(&at).or_else(|| outcomes.next()));
        Self::each(each.map(|outcome| outcome.unwrap_or(Outcome::NotRun)).collect())
    }
}

/// The same for all deliveries of the request.
impl From<Outcome> for Outcomes {
    fn from(outcome: Outcome) -> Self {
        Self(Kind::All(outcome))
    }
}

/// What came of a call that failed as a whole, or of some commands of a batch and of the rest.
impl From<HandlerError> for Outcomes {
    fn from(error: HandlerError) -> Self {
        match error {
            HandlerError::InBatch { rest, undecodable } => {
                let each = undecodable.into_iter().map(|(at, error)| (at, Outcome::Failed(error)));
                Self::all_but(Outcome::Failed(*rest), each.collect())
            }
            error => Outcome::Failed(error).into(),
        }
    }
}
