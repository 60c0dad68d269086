use std::num::NonZeroU32;
use std::time::Duration;

use super::{Batching, Concurrency, OnDead, Rate, RetryPolicy};

/// What a handler's attribute asked for; `None` leaves it to the host's defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandlerOptions {
    /// A run that takes longer has failed.
    pub timeout: Option<Duration>,
    /// A delivery that failed this often is dead. 1 means: dead on the first failure.
    pub max_attempts: Option<NonZeroU32>,
    /// A quarantined delivery is dead once so many more workers in a row have vanished with it.
    pub max_crashes: Option<NonZeroU32>,
    /// How a failed delivery is tried again.
    pub retry: Option<RetryPolicy>,
    /// How many run at the same time.
    pub concurrency: Concurrency,
    /// How many start in a stretch of time.
    pub rate: Option<Rate>,
    /// How commands are gathered; only for handlers that take a `Batch`.
    pub batch: Option<Batching>,
    /// What becomes of those that share an ordering key with one that is dead.
    pub on_dead: OnDead,
}
