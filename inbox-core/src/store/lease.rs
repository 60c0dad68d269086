use std::fmt;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::time::Duration;

use uuid::Uuid;

use super::{Bell, StoreError, StoreFuture, Terms};
use crate::message::{Delivery, MessageId};
use crate::{Now, Timestamp};

/// Hands deliveries to workers, each to one at a time.
pub trait LeaseStore: Send + Sync + 'static {
    /// *ready → lease*. Claims ready deliveries for each of `request.wanted`, the most urgent and
    /// then the oldest first, and counts an attempt for each. A delivery whose key, version or
    /// tenant nobody asks for is left alone.
    ///
    /// A *suspect*, whose worker vanished while holding it, has a lease of its own, and one host
    /// holds at most one: the suspect that has been ready for longest, of all keys wanted. The
    /// worker runs it before anything else, so that a crash accuses nobody else.
    ///
    /// Of deliveries with an ordering key, those of one handler, tenant and key are a *lane*: they are
    /// leased one at a time, in the order in which they became ready, whatever their priorities. The head
    /// keeps its lane until it is done, through retries, releases and expired leases; what a dead head
    /// does, `terms` say. A handler's earlier keys share its lanes.
    ///
    /// At most `terms.fleet` deliveries of the handler, and `terms.per_key` of one tenant's concurrency
    /// key, are held at the same time by all workers together.
    ///
    /// If the future is dropped, what it claimed is released.
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>>;

    /// *lease → lease*. Extends each lease to `duration` from now, and answers in the order of
    /// `tokens` until when it holds and which of its deliveries are to be stopped. One that has
    /// expired is lost, even if nobody has reclaimed it.
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
}

impl LeaseRequest {
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
    /// A delivery is given this many attempts; the store needs to know for those that never report
    /// back.
    pub max_attempts: NonZeroU32,
    /// How these deliveries stand to each other.
    pub terms: Terms,
}

/// One or more deliveries of one handler key that one worker holds for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Fences every later write: after the lease has expired, the token changes nothing.
    pub token: LeaseToken,
    /// The key the deliveries are stored under.
    pub handler_key: String,
    /// Whether it holds a suspect, and nothing else.
    pub suspect: bool,
    /// When it was claimed, by the store's clock.
    pub leased_at: Timestamp,
    /// Until when it holds, by the store's clock.
    pub expires_at: Timestamp,
    /// What was claimed.
    pub deliveries: Vec<Delivery>,
    /// What was claimed but cannot be read, such as a row that someone damaged or whose message is
    /// gone. The worker settles it as dead.
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

/// The lease has expired or was given up: what its holder wanted to write was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "lease {0} was lost: it expired, or its delivery is settled; nothing was written, and the \
     delivery belongs to whoever leases it next"
)]
pub struct LeaseLost(pub LeaseToken);
