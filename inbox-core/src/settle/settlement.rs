use std::fmt;
use std::time::Duration;

use super::{DeliveryState, ErrorReport};

/// Where a leased delivery goes.
///
/// Not open for additions without notice: a store that did not know one would lose the delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// *→ done*: nothing is left to do.
    Done(DoneOutcome),
    /// *→ waiting*: the attempt failed, and the next one comes after a while.
    Retry {
        /// How long it waits, by the store's clock.
        after: Duration,
        /// What went wrong.
        error: ErrorReport,
    },
    /// *→ dead*: given up, until someone decides.
    Dead {
        /// Why there is no next attempt.
        reason: DeadReason,
        /// What went wrong.
        error: ErrorReport,
    },
    /// *→ ready*: not tried after all. Its attempt is given back, and nothing is recorded.
    Release,
}

impl Settlement {
    /// The state of a delivery that was settled so.
    #[must_use]
    pub const fn state(&self) -> DeliveryState {
        match self {
            Self::Done(outcome) => outcome.state(),
            Self::Retry { .. } => DeliveryState::Waiting,
            Self::Dead { .. } => DeliveryState::Dead,
            Self::Release => DeliveryState::Pending,
        }
    }
}

/// How a delivery came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DoneOutcome {
    /// Its handler succeeded.
    Completed,
    /// Its deliver-by passed before a handler ran.
    Expired,
    /// Someone stopped it before its handler succeeded.
    Cancelled,
    /// Its handler found nothing to do for it.
    Discarded,
}

impl DoneOutcome {
    /// The word for it, the same as that of the state.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Discarded => "discarded",
        }
    }

    /// The state of a delivery that ended so.
    #[must_use]
    pub const fn state(self) -> DeliveryState {
        match self {
            Self::Completed => DeliveryState::Completed,
            Self::Expired => DeliveryState::Expired,
            Self::Cancelled => DeliveryState::Cancelled,
            Self::Discarded => DeliveryState::Discarded,
        }
    }
}

/// Why a delivery was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadReason {
    /// Its last attempt failed.
    AttemptsExhausted,
    /// Its handler gave it up.
    GivenUp,
    /// Its payload cannot be read as its contract, now or later.
    Undecodable,
    /// Its row is damaged, or its message is gone.
    Unreadable,
    /// Its worker vanished during the last attempt.
    LeaseExpired,
    /// No live host serves its handler key.
    Orphaned,
}

impl DeadReason {
    /// The word that is stored for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AttemptsExhausted => "attempts-exhausted",
            Self::GivenUp => "given-up",
            Self::Undecodable => "undecodable",
            Self::Unreadable => "unreadable",
            Self::LeaseExpired => "lease-expired",
            Self::Orphaned => "orphaned",
        }
    }
}

impl fmt::Display for DeadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
