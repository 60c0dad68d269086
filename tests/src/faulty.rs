//! A store that is in trouble when a test says so, and otherwise is the embedded one.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inbox::message::Envelope;
use inbox::schedule::Start;
use inbox::sqlite::SqliteStore;
use inbox::store::{
    Accepted, Bell, Cancelled, Clock, DeadDelivery, DeliveryCount, DeliveryFilter, DeliveryState,
    HandlerTransactions, HostRecord, Inspect, KnownRoute, Lane, LaneFilter, LaneRecord, Lease,
    LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Maintain, MessageRecord, Now, OrphanTerms,
    Page, Reclaimed, Renewed, Route, RouteRecord, Served, Settle, StateStore, StoreError,
    StoreErrorKind, StoreFuture, Writer,
};
use inbox::{MessageId, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;

/// What a worker asks of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `lease`.
    Lease,
    /// `renew`.
    Renew,
    /// `settle`.
    Settle,
    /// `reclaim`.
    Reclaim,
    /// `promote`.
    Promote,
    /// `next_due`.
    NextDue,
    /// `check`.
    Check,
    /// `route`.
    Route,
    /// `release`.
    Release,
    /// `announce`.
    Announce,
    /// `leave`.
    Leave,
    /// `give_up_orphans`.
    GiveUpOrphans,
    /// `mend`.
    Mend,
    /// `show`.
    Show,
}

impl Verb {
    /// All that a host asks for in any case.
    pub const ALL: [Self; 8] = [
        Self::Lease,
        Self::Renew,
        Self::Settle,
        Self::Reclaim,
        Self::Promote,
        Self::NextDue,
        Self::Check,
        Self::Route,
    ];
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It fails, and nothing was done.
    Fails(StoreErrorKind),
    /// It is done, and answered as if nobody knew.
    AnswersNothing,
    /// It takes a while.
    Slow(Duration),
    /// It is done, and answered after a while.
    LateAnswer(Duration),
    /// It never answers.
    Hangs,
    /// It panics, as no store should.
    Panics,
}

/// The clock of the runtime, which a test stops.
#[derive(Debug)]
pub struct RuntimeClock(Timestamp, Instant);

impl RuntimeClock {
    /// From now on.
    #[must_use]
    pub fn start() -> Arc<Self> {
        Arc::new(Self(Timestamp::now(), Instant::now()))
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Now {
        Now::At(self.0 + self.1.elapsed())
    }
}

/// A store in memory with troubles.
#[derive(Debug, Clone)]
pub struct FaultyStore {
    /// The real one.
    pub store: SqliteStore,
    troubles: Arc<Mutex<HashMap<Verb, (Trouble, u32)>>>,
    met: Arc<AtomicU32>,
    calls: watch::Sender<HashMap<Verb, Calls>>,
    transactions: TestTransactions,
    is_in_runs: bool,
    writes: Arc<Mutex<Vec<Write>>>,
}

/// A call of `settle`, or its answer.
#[derive(Debug, Clone)]
pub enum Write {
    /// These were sent, to be in these states.
    Sent(Vec<(MessageId, DeliveryState)>),
    /// These were written.
    Written(Vec<MessageId>),
}

/// How often a verb was called.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calls {
    /// All calls.
    pub begun: u64,
    /// Those that the store did and answered.
    pub answered: u64,
    /// When the last one began.
    pub last: Option<Instant>,
}

/// The transactions of a store, if a test gave it some.
#[derive(Clone, Default)]
struct TestTransactions(Option<Arc<dyn HandlerTransactions>>);

impl fmt::Debug for TestTransactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestTransactions({})", self.0.is_some())
    }
}

impl FaultyStore {
    /// A store without any trouble yet.
    ///
    /// # Errors
    /// When the store in memory cannot be opened.
    pub async fn new() -> Result<Self, StoreError> {
        let store = inbox::sqlite::in_memory().await?;
        let transactions = TestTransactions::default();
        let (troubles, met, calls) = (Arc::default(), Arc::default(), watch::Sender::default());
        let (is_in_runs, writes) = (false, Arc::default());
        Ok(Self { store, troubles, met, calls, transactions, is_in_runs, writes })
    }

    /// The same, which answers what it claims as one run, as if all deliveries were of one lane: of that the
    /// real store knows nothing.
    #[must_use]
    pub fn in_runs(mut self) -> Self {
        self.is_in_runs = true;
        self
    }

    /// The calls of `settle` and their answers, as they came.
    #[must_use]
    pub fn writes(&self) -> Vec<Write> {
        self.log().clone()
    }

    fn log(&self) -> MutexGuard<'_, Vec<Write>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, which runs handlers in these transactions.
    #[must_use]
    pub fn with_transactions(mut self, transactions: Arc<dyn HandlerTransactions>) -> Self {
        self.transactions = TestTransactions(Some(transactions));
        self
    }

    /// The next calls of this verb are in trouble, so many of them.
    pub fn trouble(&self, verb: Verb, trouble: Trouble, times: u32) {
        self.troubles().insert(verb, (trouble, times));
    }

    /// All is well from now on.
    pub fn heal(&self) {
        self.troubles().clear();
    }

    /// How many calls were in trouble.
    #[must_use]
    pub fn met(&self) -> u32 {
        self.met.load(Ordering::SeqCst)
    }

    /// How often this verb was called.
    #[must_use]
    pub fn calls(&self, verb: Verb) -> Calls {
        self.calls.borrow().get(&verb).copied().unwrap_or_default()
    }

    /// Waits until the calls of this verb are as a test expects them.
    pub async fn called(&self, verb: Verb, expected: impl Fn(Calls) -> bool) {
        let is_so =
            |calls: &HashMap<Verb, Calls>| expected(calls.get(&verb).copied().unwrap_or_default());
        // An error would mean that the sender is gone, and it is held here.
        let _ = self.calls.subscribe().wait_for(is_so).await;
    }

    fn note(&self, verb: Verb, note: impl FnOnce(&mut Calls)) {
        self.calls.send_modify(|calls| note(calls.entry(verb).or_default()));
    }

    fn troubles(&self) -> MutexGuard<'_, HashMap<Verb, (Trouble, u32)>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, verb: Verb) -> Option<Trouble> {
        let mut troubles = self.troubles();
        let (trouble, times) = troubles.get_mut(&verb)?;
        *times = times.checked_sub(1)?;
        self.met.fetch_add(1, Ordering::SeqCst);
        Some(*trouble)
    }

    fn meet<'a, T: Send + 'a>(
        &'a self,
        verb: Verb,
        call: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            self.note(verb, |calls| {
                calls.begun += 1;
                calls.last = Some(Instant::now());
            });
            let trouble = self.next(verb);
            let answer = match trouble {
                None => call.await,
                Some(Trouble::Fails(kind)) => Err(StoreError::new(kind, "the test says no")),
                Some(Trouble::AnswersNothing) => {
                    call.await?;
                    Err(StoreError::new(StoreErrorKind::TimedOut, "the test keeps the answer"))
                }
                Some(Trouble::Slow(time)) => {
                    tokio::time::sleep(time).await;
                    call.await
                }
                Some(Trouble::LateAnswer(time)) => {
                    let answer = call.await;
                    tokio::time::sleep(time).await;
                    answer
                }
                Some(Trouble::Hangs) => std::future::pending().await,
                Some(Trouble::Panics) => panic!("as the test wants it"),
            };
            if answer.is_ok() {
                self.note(verb, |calls| calls.answered += 1);
            }
            answer
        })
    }
}

impl Writer for FaultyStore {
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>> {
        self.store.accept(envelopes, now)
    }
}

impl LeaseStore for FaultyStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        let claim = self.meet(Verb::Lease, self.store.lease(request, now));
        if !self.is_in_runs {
            return claim;
        }
        Box::pin(async move {
            let mut leases = claim.await?;
            for delivery in leases.iter_mut().flat_map(|lease| &mut lease.deliveries) {
                delivery.message.ordering_key = Some("lane".to_owned());
            }
            Ok(leases)
        })
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        self.meet(Verb::Renew, self.store.renew(tokens, duration, now))
    }

    fn bell(&self) -> Option<&Bell> {
        self.store.bell()
    }
}

impl StateStore for FaultyStore {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>> {
        let ids: Vec<_> = settles.iter().map(|settle| settle.message_id).collect();
        let sent = settles.iter().map(|settle| (settle.message_id, settle.settlement.state()));
        self.log().push(Write::Sent(sent.collect()));
        let settling = self.meet(Verb::Settle, self.store.settle(settles, now));
        Box::pin(async move {
            let written = settling.await?;
            let is_written = ids.iter().zip(&written).filter(|(_, written)| written.is_ok());
            self.log().push(Write::Written(is_written.map(|(id, _)| *id).collect()));
            Ok(written)
        })
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        self.meet(Verb::Release, self.store.release(tokens, now))
    }

    fn abandon(&self, tokens: Vec<LeaseToken>, now: Now) {
        self.store.abandon(tokens, now);
    }

    fn transactions(&self) -> Option<Arc<dyn HandlerTransactions>> {
        self.transactions.0.clone()
    }
}

impl Inspect for FaultyStore {
    fn show(&self, id: MessageId) -> StoreFuture<'_, Option<MessageRecord>> {
        self.meet(Verb::Show, self.store.show(id))
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

    fn routes(&self, alive_for: Duration, now: Now) -> StoreFuture<'_, Vec<RouteRecord>> {
        self.store.routes(alive_for, now)
    }

    fn retire(&self, contract: &str, key: &str, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        self.store.retire(contract, key, now)
    }

    fn restore(&self, contract: &str, key: &str, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        self.store.restore(contract, key, now)
    }

    fn hosts(&self) -> StoreFuture<'_, Vec<HostRecord>> {
        self.store.hosts()
    }

    fn lanes(&self, filter: LaneFilter) -> StoreFuture<'_, Vec<LaneRecord>> {
        self.store.lanes(filter)
    }

    fn unblock(&self, lane: &Lane, now: Now) -> StoreFuture<'_, bool> {
        self.store.unblock(lane, now)
    }
}

impl Maintain for FaultyStore {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        self.store.register_routes(routes, now)
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.meet(Verb::Route, self.store.route(limit, now))
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.meet(Verb::Promote, self.store.promote(limit, now))
    }

    fn next_due(&self, now: Now) -> StoreFuture<'_, Option<Duration>> {
        self.meet(Verb::NextDue, self.store.next_due(now))
    }

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        self.meet(Verb::Reclaim, self.store.reclaim(limit, now))
    }

    fn announce(&self, host: &str, serves: Vec<Served>, now: Now) -> StoreFuture<'_, ()> {
        self.meet(Verb::Announce, self.store.announce(host, serves, now))
    }

    fn leave(&self, host: &str) -> StoreFuture<'_, ()> {
        self.meet(Verb::Leave, self.store.leave(host))
    }

    fn give_up_orphans(
        &self,
        terms: OrphanTerms,
        limit: u32,
        now: Now,
    ) -> StoreFuture<'_, Vec<DeadDelivery>> {
        self.meet(Verb::GiveUpOrphans, self.store.give_up_orphans(terms, limit, now))
    }

    fn mend(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.meet(Verb::Mend, self.store.mend(limit, now))
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.meet(Verb::Check, self.store.check())
    }
}
