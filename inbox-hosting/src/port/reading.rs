use std::time::Duration;

use super::StoreVerb;

/// The calls of an inbox to its store since it was built: `inbox.control().meter()`. A snapshot; the counts
/// only ever grow, so the difference of two readings is what happened in between.
///
/// Counted are the calls of the host, of `process_pending`, of the verbs of `Inbox`, and what handlers
/// schedule through their `Context`. What a program does with `inbox.store()` or `inbox.scheduler()`
/// goes to the store directly, and is not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeterReading {
    /// The counts of every verb, in the order of [`StoreVerb::ALL`].
    pub verbs: Vec<(StoreVerb, VerbCounts)>,
}

impl MeterReading {
    /// The counts of one verb.
    #[must_use]
    pub fn of(&self, verb: StoreVerb) -> VerbCounts {
        let found = self.verbs.iter().find(|(one, _)| *one == verb);
        found.map(|(_, counts)| *counts).unwrap_or_default()
    }
}

/// The calls of one verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VerbCounts {
    /// Calls that were begun.
    pub calls: u64,
    /// Calls that the store answered with an error.
    pub errors: u64,
    /// Calls that ended without an answer: the caller's patience was over, or the store panicked.
    pub dropped: u64,
    /// Deliveries that the verb moved; of `accept`, messages that were stored. Verbs that move none, and
    /// those that do not know how many, count none.
    pub deliveries: u64,
    /// The time that all ended calls took together, with those that failed or were dropped.
    pub time: Duration,
}
