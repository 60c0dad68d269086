use std::any::{Any, TypeId};
use std::error::Error;
use std::pin::Pin;

use super::{DeliveryState, Settle, StoreError};
use crate::Now;
use crate::error::Failure;
use crate::message::MessageId;

/// Transactions of a store in which handlers run that take one as `&mut T`: what the handler writes in it
/// and what becomes of its deliveries is written together, or not at all.
///
/// The store is handed settlements to write, and decides nothing.
pub trait HandlerTransactions: Send + Sync + 'static {
    /// The type `T` that handlers take.
    fn provides(&self) -> TypeId;

    /// Begins a transaction, and answers the `T`. Dropped, it is rolled back.
    ///
    /// # Errors
    /// When there is none to be had.
    fn begin(&self) -> TransactionFuture<'_, Result<HandlerTransaction, StoreError>>;

    /// Settles these deliveries within the transaction, and commits it. Without any it is only committed.
    ///
    /// Where the future is dropped, a commit that has begun goes on to its end.
    fn commit(
        &self,
        transaction: HandlerTransaction,
        settles: Vec<Settle>,
        now: Now,
    ) -> TransactionFuture<'_, TransactionOutcome>;

    /// Rolls the transaction back after the handler answered `error`. Answers whether the run may pass if
    /// it is repeated: the transaction met another one, or lost its connection.
    fn roll_back<'a>(
        &'a self,
        transaction: HandlerTransaction,
        error: Option<&'a (dyn Error + Send + Sync + 'static)>,
    ) -> TransactionFuture<'a, bool>;
}

/// A transaction on its way to a handler and back.
pub type HandlerTransaction = Box<dyn Any + Send>;

/// What a store's transactions will answer.
pub type TransactionFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How the commit of a handler's transaction ended.
#[derive(Debug)]
pub enum TransactionOutcome {
    /// It is committed; answers the state of each delivery, in the order of the settlements.
    Committed(Vec<DeliveryState>),
    /// It is rolled back, because the lease of these messages was lost.
    LeaseLost(Vec<MessageId>),
    /// It is rolled back for a reason that may pass, such as a deadlock.
    Conflict(StoreError),
    /// It is rolled back.
    Refused(Failure),
    /// It is rolled back: the store failed.
    Failed(StoreError),
    /// The commit was sent, and nobody knows whether it happened.
    Unsure(StoreError),
}
