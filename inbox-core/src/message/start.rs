use std::time::Duration;

use crate::Timestamp;

/// When a message may first be handled.
///
/// Not open for additions without notice: a store that did not know one would start at the wrong
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// As soon as a worker is free.
    #[default]
    Immediately,
    /// So long after it was accepted, or after it is rescheduled, by the store's clock.
    After(Duration),
    /// At this moment; one in the past means immediately.
    At(Timestamp),
}

impl Start {
    /// From when on something may be handled that is accepted or rescheduled at `now`; never earlier.
    #[must_use]
    pub fn due_at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Immediately => now,
            Self::After(delay) => now.saturating_add(delay),
            Self::At(moment) => moment.max(now),
        }
    }
}

/// Which of the waiting deliveries of a handler goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Priority {
    /// After everything else.
    Low,
    /// Where nothing is said.
    #[default]
    Normal,
    /// Before what is normal.
    High,
    /// Before everything else.
    Urgent,
}

impl Priority {
    /// The number that stores keep for it: the more urgent, the higher.
    #[must_use]
    pub const fn level(self) -> u8 {
        match self {
            Self::Low => 0,
            Self::Normal => 1,
            Self::High => 2,
            Self::Urgent => 3,
        }
    }
}
