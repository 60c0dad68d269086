//! What a store promises: five small traits, in the order a message meets them.
//!
//! | trait | verbs | who calls it |
//! |---|---|---|
//! | [`Writer`] | accept, wake | whoever schedules |
//! | [`LeaseStore`] | lease, renew; bell, listen, renewer | workers |
//! | [`StateStore`] | settle, release | workers |
//! | [`Inspect`] | show, list, counts, retry, cancel, reschedule; lanes, unblock; routes, retire, restore, hosts | people, and `status` |
//! | [`Maintain`] | register routes, route, promote, next due, reclaim, mend, check; announce, leave, give up orphans | every host, now and then |
//!
//! A delivery is in exactly one place: *ready*, *lease*, *waiting*, *dead* or *done*. Every verb is
//! documented as a move between those places, happens entirely or not at all, and can be called by
//! any number of processes at once. The test kit's conformance suite checks all of it.
//!
//! `BulkWriter`, beside the scheduler, is for stores that have a faster way to accept a great many.
//!
//! `now` is a parameter of every verb that looks at a clock. [`Now::OfStore`](crate::Now) is the
//! store's own clock.

mod bell;
mod error;
mod fleet;
mod inspect;
mod lane;
mod lease;
mod maintain;
mod record;
mod routing;
mod state;
mod terms;
mod transaction;
mod writer;

use std::pin::Pin;

pub use crate::policy::OnDead;
pub use crate::settle::{DeliveryState, ParseDeliveryStateError};
pub use bell::{Bell, BellListener};
pub use error::{StoreError, StoreErrorKind};
pub use fleet::{HostRecord, OrphanTerms, RouteRecord, Served};
pub use inspect::{Cancelled, Cursor, DeliveryCount, DeliveryFilter, Inspect, Page};
pub use lane::{Lane, LaneFilter, LaneRecord};
pub use lease::{
    Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Listening, Renewed, Renewer,
    Unreadable, Wanted,
};
pub use maintain::{DeadDelivery, KnownRoute, Maintain, Reclaimed, ReclaimedDelivery, Route};
pub use record::{AttemptRecord, DeliveryRecord, MessageRecord};
pub use routing::Routing;
pub use state::{Settle, StateStore};
pub use terms::{Runs, Terms};
pub use transaction::{
    HandlerTransaction, HandlerTransactions, TransactionFuture, TransactionOutcome,
};
pub use writer::{Accepted, StoredMessage, Writer};

/// What a verb will answer.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// All five traits together, which is what a host needs.
pub trait Store: Writer + LeaseStore + StateStore + Inspect + Maintain {}

impl<S: Writer + LeaseStore + StateStore + Inspect + Maintain + ?Sized> Store for S {}
