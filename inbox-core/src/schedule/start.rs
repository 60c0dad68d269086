use std::time::Duration;

use crate::Timestamp;

/// When a message may first be handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Start {
    /// As soon as a worker is free.
    #[default]
    Immediately,
    /// So long after acceptance, by the store's clock.
    After(Duration),
    /// At this moment; one in the past means immediately.
    At(Timestamp),
}

/// Which of the waiting deliveries of a handler goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
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
