use std::time::Duration;

use inbox_core::Now;
use inbox_core::store::{Lease, LeaseToken, StateStore as _, StoreError, StoreErrorKind};
use tokio::time::sleep;

use crate::PostgresStore;

/// How soon it is seen whether a claim that was given up has taken something after all.
const SOON: Duration = Duration::from_millis(100);

/// A claim that was sent. If its answer does not come, nobody knows what it claimed: that is released
/// then, instead of being held until it expires.
pub(crate) struct Asked {
    store: PostgresStore,
    token: LeaseToken,
    now: Now,
    is_answered: bool,
}

impl Asked {
    pub(crate) fn new(store: &PostgresStore, token: LeaseToken, now: Now) -> Self {
        Self { store: store.clone(), token, now, is_answered: false }
    }

    /// Takes note of the answer, and passes it on.
    pub(crate) fn answered<T>(mut self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let unknown = |error: &StoreError| error.kind() == StoreErrorKind::TimedOut;
        self.is_answered = !answer.as_ref().is_err_and(unknown);
        answer
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.store.abandon(vec![self.token], self.now);
        self.store.abandon_again(self.token, self.now);
    }
}

impl PostgresStore {
    /// Releases what a claim takes after it was given up. With its settings it is several messages, so the
    /// first answer may get lost while the rest is on its way, through a pooler or into a busy server.
    fn abandon_again(&self, token: LeaseToken, now: Now) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let store = self.clone();
        let releasing = async move {
            let inner = store.inner();
            // After the last of these the server has given it up as well.
            for wait in [SOON, SOON * 10, store.call_timeout()] {
                let is_closing = inner.closing.run_until_cancelled(sleep(wait)).await.is_none();
                let released = store.release(vec![token], now).await;
                if is_closing || released.is_ok_and(|count| count > 0) {
                    return;
                }
            }
        };
        self.inner().tasks.spawn_on(releasing, &runtime);
    }
}

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

    /// How many deliveries there are.
    pub(crate) fn count(&self) -> u32 {
        let held = self.leases.iter().map(|lease| lease.deliveries.len() + lease.unreadable.len());
        u32::try_from(held.sum::<usize>()).unwrap_or(u32::MAX)
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
