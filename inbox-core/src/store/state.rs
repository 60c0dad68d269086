use std::sync::Arc;

use super::{DeliveryState, HandlerTransactions, LeaseLost, LeaseToken, StoreFuture};
use crate::Now;
use crate::message::MessageId;
use crate::settle::Settlement;

/// Writes what became of leased deliveries. Every write is fenced by the lease's token.
pub trait StateStore: Send + Sync + 'static {
    /// *lease → done, waiting, dead or ready*. Settles each delivery as its holder decided, and
    /// answers in the order of `settles` which state it is in now. A failure is recorded as an
    /// attempt beside it. One that was not tried after all goes back as it came: ready, a suspect if
    /// it was one, and without this attempt; the others of its lease stay held.
    ///
    /// A delivery that was [cancelled](super::Inspect::cancel) meanwhile is not tried again: what
    /// would wait for a retry, be dead or be ready is done, as cancelled. One whose handler
    /// succeeded is completed.
    ///
    /// Where a lease has expired, is gone, or does not hold that delivery, nothing happens to it;
    /// the others are settled all the same.
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>>;

    /// *lease → ready*. Gives up whole leases without counting the attempt, such as at shutdown. Answers
    /// how many deliveries are ready again; one that was cancelled meanwhile is done.
    ///
    /// A lease that has expired is given up too, while nobody has reclaimed it: a worker that could
    /// not renew it and is alive says so, and its deliveries are no suspects. One that was reclaimed
    /// or settled returns none.
    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64>;

    /// The same for a worker that cannot wait, because its future is being dropped. A store that
    /// cannot do it does nothing: the leases expire.
    fn abandon(&self, tokens: Vec<LeaseToken>, now: Now) {
        let _ = (tokens, now);
    }

    /// Transactions of the store's in which handlers run, and which settle their deliveries too.
    /// Nothing, if the store cannot: then `build()` refuses handlers that take such a transaction.
    fn transactions(&self) -> Option<Arc<dyn HandlerTransactions>> {
        None
    }
}

/// One delivery to settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// The lease that holds it.
    pub token: LeaseToken,
    /// The message it delivers.
    pub message_id: MessageId,
    /// What becomes of it.
    pub settlement: Settlement,
}
