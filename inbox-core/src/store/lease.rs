use std::fmt;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::time::Duration;

use uuid::Uuid;

use super::{Bell, StoreError, StoreFuture, Terms};
use crate::message::{Delivery, MessageId, Priority};
use crate::{Now, Timestamp};

/// Hands deliveries to workers, each to one at a time.
pub trait LeaseStore: Send + Sync + 'static {
    /// *ready → lease*. Claims ready deliveries for each of `request.wanted`, the most urgent and
    /// then the oldest first, and counts an attempt for each. A delivery whose key, version or
    /// tenant nobody asks for is left alone.
    ///
    /// A *quarantined* delivery, with which [two workers in a row vanished](super::Maintain::reclaim), is
    /// claimed only where `request.quarantine` allows, and under a lease that holds no other kind: the
    /// one that has been ready for longest, of all keys wanted, and with it others of its key. One
    /// with which a third worker vanished is leased alone.
    ///
    /// Of deliveries with an ordering key, those of one handler, tenant and key are a *lane*, whatever their
    /// priorities. Each delivery has a position in its lane, given once: when it is accepted or, if it starts
    /// later, when it first becomes due. A claim that wins a lane takes its oldest deliveries, a *run*, as many
    /// as `terms.runs` allows; they are answered in their order, and the worker begins each when the one before
    /// has ended. Nobody else is given a delivery of the lane while one of them is held. A delivery that is
    /// given back, or comes back from a worker that vanished, keeps its position. One that waits for a
    /// retry keeps the lane, and so does a dead one unless `terms` say otherwise. A handler's earlier keys share
    /// its lanes: a run holds deliveries of all keys in `wanted`, and ends before the first delivery that this
    /// worker may not take. A quarantined delivery is a run of its own.
    ///
    /// Of `terms.fleet` permits of the handler, and `terms.per_key` of one tenant's concurrency key, all workers
    /// together use no more at the same time. A delivery that is held uses one, and so does a run. Where
    /// `terms.fleet` is the only limit, a store may hand out more deliveries than there are permits, if it says by
    /// [`Lease::permits`] how many of them may run at once: in runs of at most `terms.runs.length`.
    ///
    /// If the future is dropped, what it claimed is released.
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>>;

    /// *lease → lease*. Extends each lease to `duration` from now, and answers in the order of
    /// `tokens` until when it holds and which of its deliveries are to be stopped. One that has
    /// expired is renewed too, unless someone has reclaimed any of it: after an outage of the store, its
    /// worker is as alive as before.
    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>>;

    /// What a host renews its leases with, from a thread of its own with a runtime of its own: it
    /// depends on nothing that handlers can hold up, such as a pool or a task of another runtime.
    /// Nothing, if that is true of [`renew`](Self::renew) itself.
    fn renewer(&self) -> Option<Box<dyn Renewer>> {
        None
    }

    /// Rung whenever something may have become ready: through this value, its clones, and while
    /// someone [listens](Self::listen), through other processes. Nothing, if workers must ask.
    fn bell(&self) -> Option<&Bell> {
        None
    }

    /// Begins to ring the [bell](Self::bell) for what other processes do. Nothing, if there is
    /// nothing to listen to; workers then ask now and then.
    fn listen(&self) -> Option<StoreFuture<'_, Listening>> {
        None
    }
}

/// Renews leases, come what may.
pub trait Renewer: Send + 'static {
    /// Does what [`LeaseStore::renew`] does.
    fn renew(
        &mut self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>>;
}

/// Rings a store's bell for what other processes do, until it cannot any more: then it says why.
pub type Listening = Pin<Box<dyn Future<Output = StoreError> + Send>>;

/// A lease that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewed {
    /// Until when it holds, by the store's clock.
    pub expires_at: Timestamp,
    /// Those of its open deliveries that someone [cancelled](super::Inspect::cancel), sorted: the
    /// worker stops their handlers, and begins none.
    pub cancelled: Vec<MessageId>,
}

/// What a worker wants to work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    /// Who asks: one name for each running host, new at every start.
    pub host: String,
    /// How long the leases hold unless renewed.
    pub duration: Duration,
    /// The handler keys this worker serves.
    pub wanted: Vec<Wanted>,
    /// Only messages of these tenants, of which the empty one is that of messages without a tenant;
    /// all, if nothing is said.
    pub tenants: Option<Vec<String>>,
    /// At most this many quarantined deliveries, in one lease beside the others and beyond their limits;
    /// none, if nothing is said: a host has no more than one such lease at a time.
    pub quarantine: Option<NonZeroU32>,
    /// The priority that is claimed first, before the others in their order. The most urgent one, if
    /// nothing is said; a host names another one now and then, so that no priority starves.
    pub first: Option<Priority>,
}

impl LeaseRequest {
    /// A worker that serves all tenants, takes the most urgent first and no quarantined delivery.
    #[must_use]
    pub fn new(host: impl Into<String>, duration: Duration, wanted: Vec<Wanted>) -> Self {
        let (tenants, quarantine, first) = (None, None, None);
        Self { host: host.into(), duration, wanted, tenants, quarantine, first }
    }

    /// The priorities in the order in which this request takes them.
    #[must_use]
    pub fn priorities(&self) -> [Priority; 4] {
        let mut all = [Priority::Urgent, Priority::High, Priority::Normal, Priority::Low];
        // Stable: the others keep their order.
        all.sort_by_key(|priority| Some(*priority) != self.first);
        all
    }

    /// Whether the worker serves this tenant.
    #[must_use]
    pub fn serves(&self, tenant: &str) -> bool {
        self.tenants.as_ref().is_none_or(|served| served.iter().any(|one| one == tenant))
    }
}

/// Deliveries of one handler key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The key that deliveries are stored under.
    pub handler_key: String,
    /// The versions of the contract that the handler reads.
    pub versions: Vec<u32>,
    /// At most this many.
    pub limit: NonZeroU32,
    /// A quarantined delivery is dead once this many more workers in a row have vanished with it, the last of
    /// which held it alone.
    pub max_crashes: NonZeroU32,
    /// How these deliveries stand to each other.
    pub terms: Terms,
}

/// One or more deliveries of one handler that one worker holds for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Fences every later write: once the lease was reclaimed, the token changes nothing.
    pub token: LeaseToken,
    /// The key that it was claimed for. The later deliveries of a run may be stored under another key of the
    /// same handler.
    pub handler_key: String,
    /// Whether it holds quarantined deliveries, and nothing else.
    pub quarantined: bool,
    /// When it was claimed, by the store's clock.
    pub leased_at: Timestamp,
    /// Until when it holds, by the store's clock.
    pub expires_at: Timestamp,
    /// At most so many of its deliveries without an ordering key run at once, and they use as many permits of
    /// [`Terms::fleet`]. All of them, each with a permit of its own, if nothing is said.
    pub permits: Option<NonZeroU32>,
    /// What was claimed. Deliveries that share a tenant and an ordering key are a run, in its order.
    pub deliveries: Vec<Delivery>,
    /// What was claimed but cannot be read, such as a row that someone damaged or whose message is
    /// gone. The worker settles it as dead. Of a lane, it is a run of its own.
    pub unreadable: Vec<Unreadable>,
}

/// A delivery whose row cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The message it belongs to.
    pub message_id: MessageId,
    /// What is wrong.
    pub reason: String,
}

/// Proof that a lease is one's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseToken(Uuid);

impl LeaseToken {
    /// A token that nobody else has.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "every call differs, so there is no default")]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// The token with these 128 bits.
    #[must_use]
    pub const fn from_u128(bits: u128) -> Self {
        Self(Uuid::from_u128(bits))
    }

    /// The token as 128 bits.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0.as_u128()
    }
}

impl fmt::Display for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The delivery is not held under this lease any more: what its holder wanted to write was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "lease {0} was lost: it expired and was reclaimed, or its delivery is settled; nothing was written, \
     and the delivery belongs to whoever leases it next"
)]
pub struct LeaseLost(pub LeaseToken);
