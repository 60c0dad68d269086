use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::Observer;

/// How a host works.
pub(crate) struct HostOptions {
    /// Calls of handlers at the same time.
    pub(crate) concurrency: NonZeroU32,
    /// Deliveries that are held, beyond those that handlers are at.
    pub(crate) buffer: usize,
    /// The longest it goes without asking the store.
    pub(crate) poll_interval: Duration,
    /// How long handlers may go on after a signal to stop.
    pub(crate) shutdown_timeout: Duration,
    /// A loop that has not come around for so long has stalled.
    pub(crate) stall_after: Duration,
    /// The handlers it runs, where it is not all of them.
    pub(crate) only: Option<Vec<String>>,
    /// The tenants it works for, where it is not all of them.
    pub(crate) tenants: Option<Vec<String>>,
    /// How long what no live host serves is kept before it is given up.
    pub(crate) orphan_grace: Duration,
    /// Of so many claims, one begins with a lower priority; none, if nothing is said.
    pub(crate) low_priority_share: Option<NonZeroU32>,
    /// Whether it leases at all.
    pub(crate) processes: bool,
    /// Whether leases are renewed on a thread of their own.
    pub(crate) renews_apart: bool,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            concurrency: NonZeroU32::MIN.saturating_add(63),
            buffer: 2_000,
            poll_interval: Duration::from_secs(1),
            shutdown_timeout: Duration::from_secs(25),
            stall_after: Duration::from_secs(10),
            orphan_grace: Duration::from_hours(24),
            low_priority_share: NonZeroU32::new(8),
            only: None,
            tenants: None,
            processes: true,
            renews_apart: true,
            observers: Vec::new(),
        }
    }
}

impl std::fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostOptions")
            .field("concurrency", &self.concurrency)
            .field("only", &self.only)
            .finish_non_exhaustive()
    }
}
