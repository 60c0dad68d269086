use super::{LeaseLost, LeaseToken, StoreFuture};
use crate::Now;
use crate::message::MessageId;
use crate::settle::Settlement;

/// Writes what became of leased deliveries. Every write is fenced by the lease's token.
pub trait StateStore: Send + Sync + 'static {
    /// *lease → done, waiting or dead*. Settles each delivery as its holder decided, and answers in
    /// the order of `settles`. A failure is recorded as an attempt beside it.
    ///
    /// Where a lease has expired, is gone, or does not hold that delivery, nothing happens to it;
    /// the others are settled all the same.
    fn settle(&self, settles: Vec<Settle>, now: Now)
    -> StoreFuture<'_, Vec<Result<(), LeaseLost>>>;

    /// *lease → ready*. Gives up leases without counting the attempt, such as at shutdown. Answers
    /// how many deliveries were returned; a lease that is not held any more returns none.
    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64>;

    /// The same for a worker that cannot wait, because its future is being dropped. A store that
    /// cannot do it does nothing: the leases expire.
    fn abandon(&self, tokens: Vec<LeaseToken>, now: Now) {
        let _ = (tokens, now);
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
