use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How often a host says that it lives: several times while others take it for alive.
pub(super) const SIGHT: Duration = Duration::from_secs(10);

/// Heartbeats that are this far apart have a gap between them.
const GAP: Duration = SIGHT.saturating_mul(2);

/// The heartbeats of this program: when the last one was, and since when they have had no gap.
#[derive(Debug, Default)]
pub(crate) struct Beats(Mutex<Option<Steady>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Steady {
    since: Instant,
    last: Instant,
}

impl Steady {
    /// After another heartbeat.
    fn beat(known: Option<Self>, now: Instant) -> Self {
        let known = known.filter(|known| known.holds(now));
        Self { since: known.map_or(now, |known| known.since), last: now }
    }

    fn holds(self, now: Instant) -> bool {
        now < self.last + GAP
    }

    fn is_fresh(self, now: Instant) -> bool {
        now < self.last + SIGHT
    }
}

impl Beats {
    /// The store took a heartbeat.
    pub(super) fn beat(&self) {
        let mut known = self.lock();
        *known = Some(Steady::beat(*known, Instant::now()));
    }

    /// The store did not take a heartbeat, or this program is there no more.
    pub(crate) fn miss(&self) {
        *self.lock() = None;
    }

    /// Whether the last heartbeat is so young that `process_pending` need not send another.
    pub(super) fn is_fresh(&self) -> bool {
        self.lock().is_some_and(|steady| steady.is_fresh(Instant::now()))
    }

    /// Since when the store has taken every heartbeat; nothing, if the last one was missed.
    pub(super) fn steady_since(&self) -> Option<Instant> {
        self.lock().filter(|steady| steady.holds(Instant::now())).map(|steady| steady.since)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Steady>> {
        // Nothing is half-done when a holder panics: every change is an assignment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_are_steady_since_the_first_one_if_there_is_no_gap() {
        let begun = Instant::now();
        let mut steady = Steady::beat(None, begun);
        for beat in 1..10 {
            let now = begun + SIGHT * beat;
            assert!(steady.holds(now) && !steady.is_fresh(now));
            steady = Steady::beat(Some(steady), now);
            assert_eq!(steady, Steady { since: begun, last: now });
        }
    }

    #[test]
    fn heartbeats_with_a_gap_between_them_begin_anew() {
        let begun = Instant::now();
        let steady = Steady::beat(None, begun);
        assert!(steady.is_fresh(begun));
        let late = begun + GAP;
        assert!(!steady.holds(late));
        assert_eq!(Steady::beat(Some(steady), late), Steady { since: late, last: late });
    }

    #[test]
    fn a_heartbeat_that_was_missed_ends_what_was_steady() {
        let beats = Beats::default();
        assert_eq!(beats.steady_since(), None);
        beats.beat();
        assert!(beats.is_fresh() && beats.steady_since().is_some());
        beats.miss();
        assert!(!beats.is_fresh() && beats.steady_since().is_none());
    }
}
