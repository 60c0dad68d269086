//! A store that fails when a test says so, and otherwise is the embedded one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use inbox::MessageId;
use inbox::message::Envelope;
use inbox::schedule::Start;
use inbox::sqlite::SqliteStore;
use inbox::store::{
    Accepted, Cancelled, DeliveryCount, DeliveryFilter, DeliveryState, Inspect, KnownRoute, Lease,
    LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Maintain, MessageRecord, Now, Page, Reclaimed,
    Renewed, Route, Settle, StateStore, StoreError, StoreErrorKind, StoreFuture, Writer,
};

/// Its next settles fail, as often as `failures` says, with an error of this kind.
#[derive(Debug, Clone)]
pub struct FaultyStore {
    /// The real one.
    pub store: SqliteStore,
    /// How many settles are still to fail.
    pub failures: Arc<AtomicU32>,
    /// How they fail.
    pub kind: StoreErrorKind,
    /// Whether renewals get no answer.
    pub silent: Arc<AtomicBool>,
    /// How many settles are written and then answered as if nobody knew.
    pub late: Arc<AtomicU32>,
}

impl FaultyStore {
    /// A store in memory that fails to settle `failures` times.
    ///
    /// # Errors
    /// When the store in memory cannot be opened.
    pub async fn new(failures: u32, kind: StoreErrorKind) -> Result<Self, StoreError> {
        let store = inbox::sqlite::in_memory().await?;
        let failures = Arc::new(AtomicU32::new(failures));
        Ok(Self { store, failures, kind, silent: Arc::default(), late: Arc::default() })
    }
}

impl Writer for FaultyStore {
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>> {
        self.store.accept(envelopes, now)
    }
}

impl LeaseStore for FaultyStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        self.store.lease(request, now)
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        if self.silent.load(Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        self.store.renew(tokens, duration, now)
    }
}

impl StateStore for FaultyStore {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>> {
        let fails = |failures: u32| failures.checked_sub(1);
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
            let error = StoreError::new(self.kind, "the test says no");
            return Box::pin(async { Err(error) });
        }
        let settled = self.store.settle(settles, now);
        if self.late.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
            return Box::pin(async {
                settled.await?;
                Err(StoreError::new(StoreErrorKind::TimedOut, "the test keeps the answer"))
            });
        }
        settled
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        self.store.release(tokens, now)
    }
}

impl Inspect for FaultyStore {
    fn show(&self, id: MessageId) -> StoreFuture<'_, Option<MessageRecord>> {
        self.store.show(id)
    }

    fn list(&self, filter: DeliveryFilter) -> StoreFuture<'_, Page> {
        self.store.list(filter)
    }

    fn counts(&self) -> StoreFuture<'_, Vec<DeliveryCount>> {
        self.store.counts()
    }

    fn retry(&self, id: MessageId, handler_key: &str, now: Now) -> StoreFuture<'_, bool> {
        self.store.retry(id, handler_key, now)
    }

    fn cancel(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        now: Now,
    ) -> StoreFuture<'_, Cancelled> {
        self.store.cancel(id, handler_key, now)
    }

    fn reschedule(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        start: Start,
        now: Now,
    ) -> StoreFuture<'_, u64> {
        self.store.reschedule(id, handler_key, start, now)
    }
}

impl Maintain for FaultyStore {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        self.store.register_routes(routes, now)
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.store.route(limit, now)
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.store.promote(limit, now)
    }

    fn next_due(&self, now: Now) -> StoreFuture<'_, Option<Duration>> {
        self.store.next_due(now)
    }

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        self.store.reclaim(limit, now)
    }
}
