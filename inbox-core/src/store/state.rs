use std::sync::Arc;

use super::{DeliveryState, HandlerTransactions, LeaseLost, LeaseToken, StoreFuture};
use crate::Now;
use crate::message::{Carry, Delivery, MessageId, Shares};
use crate::settle::Settlement;

/// Writes what became of leased deliveries. Every write is fenced: it finds the delivery held under the
/// lease's token, or changes nothing.
pub trait StateStore: Send + Sync + 'static {
    /// *lease → done, waiting, dead or ready*. Settles each delivery as its holder decided, and
    /// answers in the order of `settles` which state it is in now. A failure is recorded as an
    /// attempt beside it. One that was not tried after all goes back as it came: ready, quarantined if
    /// it was, and without this attempt; the others of its lease stay held.
    ///
    /// A delivery that was [cancelled](super::Inspect::cancel) meanwhile is not tried again: what
    /// would wait for a retry, be dead or be ready is done, as cancelled. One whose handler
    /// succeeded is completed.
    ///
    /// A lease that has expired settles its deliveries until someone has reclaimed them: whoever holds a
    /// delivery holds it until it is taken away. Where a lease does not hold a delivery any more,
    /// nothing happens to that delivery; the others are settled all the same.
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>>;

    /// *lease → ready*. Gives up whole leases without counting the attempt, such as at shutdown. Answers
    /// how many deliveries are ready again; one that was cancelled meanwhile is done.
    ///
    /// A lease that has expired is given up too, while nobody has reclaimed it: its worker is alive, so
    /// this counts as no crash. One that was reclaimed or settled returns none.
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
    /// What a retry takes along.
    pub carry: Carry,
    /// What the delivery [shares with others](Delivery::shares).
    pub shares: Shares,
}

impl Settle {
    /// Settles `delivery`, which is held under `token`.
    #[must_use]
    pub fn new(token: LeaseToken, delivery: &Delivery, settlement: Settlement) -> Self {
        let carry = match settlement {
            Settlement::Retry { .. } => delivery.carry.retried(),
            _ => delivery.carry.clone(),
        };
        let (message_id, shares) = (delivery.message.id, delivery.shares);
        Self { token, message_id, settlement, carry, shares }
    }

    /// Settles the delivery of a message of which nothing else is known.
    #[must_use]
    pub fn by_id(token: LeaseToken, message_id: MessageId, settlement: Settlement) -> Self {
        Self { token, message_id, settlement, carry: Carry::default(), shares: Shares::UNKNOWN }
    }
}
