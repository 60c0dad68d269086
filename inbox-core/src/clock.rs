use crate::Timestamp;

/// The moment at which a store's verb happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Now {
    /// By the store's own clock, the one that all processes share.
    #[default]
    OfStore,
    /// At this moment, whatever a clock says: for tests.
    At(Timestamp),
}

impl Now {
    /// The moment, where `store_clock` tells the store's time.
    #[must_use]
    pub fn or_else(self, store_clock: impl FnOnce() -> Timestamp) -> Timestamp {
        match self {
            Self::OfStore => store_clock(),
            Self::At(moment) => moment,
        }
    }
}

/// Who says what time it is. Where nothing else is said, the store does.
pub trait Clock: Send + Sync + 'static {
    /// The present.
    fn now(&self) -> Now;
}

/// Leaves the time to the store: the clocks of a fleet differ, and only one can decide.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreClock;

impl Clock for StoreClock {
    fn now(&self) -> Now {
        Now::OfStore
    }
}
