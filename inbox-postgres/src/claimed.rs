use inbox_core::Now;
use inbox_core::store::{Lease, StateStore as _};

use crate::PostgresStore;

/// Leases on their way to a worker. Dropped before they get there, they are released: nobody would
/// work on them until they expire.
pub(crate) struct Claimed {
    store: PostgresStore,
    leases: Vec<Lease>,
}

impl Claimed {
    pub(crate) fn new(store: PostgresStore, leases: Vec<Lease>) -> Self {
        Self { store, leases }
    }

    /// Adds what another statement claimed.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.leases.extend(other.keep());
    }

    pub(crate) fn leases(&self) -> &[Lease] {
        &self.leases
    }

    pub(crate) fn keep(mut self) -> Vec<Lease> {
        std::mem::take(&mut self.leases)
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let tokens = self.leases.iter().map(|lease| lease.token).collect();
        // By the clock they were claimed at: it may be a test's.
        if let Some(first) = self.leases.first() {
            self.store.abandon(tokens, Now::At(first.leased_at));
        }
    }
}
