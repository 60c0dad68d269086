use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{MeterReading, StoreVerb, VerbCounts};

/// Counts the calls of a store by verb. Nobody waits for anybody: each count is an atomic of its own.
#[derive(Debug)]
pub(crate) struct Meter([Counter; StoreVerb::ALL.len()]);

#[derive(Debug, Default)]
pub(super) struct Counter {
    calls: AtomicU64,
    errors: AtomicU64,
    dropped: AtomicU64,
    deliveries: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Default for Meter {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counter::default()))
    }
}

impl Meter {
    pub(super) const fn of(&self, verb: StoreVerb) -> &Counter {
        &self.0[verb as usize]
    }

    pub(crate) fn read(&self) -> MeterReading {
        let verbs = StoreVerb::ALL.iter().map(|verb| (*verb, self.of(*verb).read()));
        MeterReading { verbs: verbs.collect() }
    }
}

impl Counter {
    pub(super) fn begun(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn moved(&self, deliveries: u64) {
        self.deliveries.fetch_add(deliveries, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn took(&self, elapsed: Duration) {
        // A sum that does not fit would be that of 584 years.
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn read(&self) -> VerbCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        VerbCounts {
            calls: read(&self.calls),
            errors: read(&self.errors),
            dropped: read(&self.dropped),
            deliveries: read(&self.deliveries),
            time: Duration::from_nanos(read(&self.nanoseconds)),
        }
    }
}
