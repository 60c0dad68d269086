use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::{Store, StoreError};
use inbox_core::{Now, Timestamp};

use crate::conformance::TestDatabase;

/// How long the leases of the cases hold.
pub(crate) const HOLD: Duration = Duration::from_mins(1);

/// How long a case waits for what must happen by itself: only what never happens takes longer, however busy
/// the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Not a whole second, so that a store that cuts moments short is seen.
const START: Timestamp = Timestamp::from_micros(1_769_848_200_123_457);

/// One connection, the name of its host, and what time it is there.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) host: String,
    pub(crate) now: Timestamp,
}

impl Bench {
    pub(crate) async fn open(database: &dyn TestDatabase) -> Self {
        Self { store: database.connect().await, host: "host-1".to_owned(), now: START }
    }

    /// Another process at the same time.
    pub(crate) async fn other(&self, database: &dyn TestDatabase, host: &str) -> Self {
        Self { store: database.connect().await, host: host.to_owned(), now: self.now }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
    }

    /// The moment so long from now.
    pub(crate) fn later(&self, time: Duration) -> Timestamp {
        self.now.saturating_add(time)
    }

    /// The clock is set to one microsecond before `moment`, the last at which it has not come.
    pub(crate) fn just_before(&mut self, moment: Timestamp) {
        self.now = Timestamp::from_micros(moment.as_micros() - 1);
    }

    pub(crate) fn at(&self) -> Now {
        Now::At(self.now)
    }
}

/// What a verb answered. No case expects a store to fail.
pub(super) fn must<T>(verb: &str, answer: Result<T, StoreError>) -> T {
    answer.unwrap_or_else(|error| panic!("{verb} failed: {error} ({:?})", error.kind()))
}
