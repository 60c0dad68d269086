use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use inbox_core::{Clock, Now, Timestamp};

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl TestClock {
    /// A clock that shows `moment`.
    #[must_use]
    pub fn new(moment: Timestamp) -> Self {
        Self(AtomicI64::new(moment.as_micros()))
    }

    /// What it shows.
    pub fn moment(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }

    /// Moves it on.
    pub fn advance(&self, duration: Duration) {
        let moved =
            |micros| Some(Timestamp::from_micros(micros).saturating_add(duration).as_micros());
        // The closure always answers, so this cannot fail.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, moved);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Now {
        Now::At(self.moment())
    }
}
