use std::any::TypeId;
use std::error::Error;

use inbox_core::Now;
use inbox_core::error::Failure;
use inbox_core::store::{
    DeliveryState, HandlerTransaction, HandlerTransactions, Settle, StoreError, StoreErrorKind,
    TransactionFuture, TransactionOutcome,
};
use tracing::Instrument as _;

use super::commit::Commit;
use super::error::may_pass;
use super::{Transaction, TransactionError};
use crate::PostgresStore;

/// Runs handlers in transactions of a store.
#[derive(Debug)]
pub(crate) struct TransactionScope(pub(crate) PostgresStore);

impl HandlerTransactions for TransactionScope {
    fn provides(&self) -> TypeId {
        TypeId::of::<Transaction>()
    }

    fn begin(&self) -> TransactionFuture<'_, Result<HandlerTransaction, StoreError>> {
        Box::pin(async {
            let transaction: HandlerTransaction = Box::new(Transaction::begin(&self.0).await?);
            Ok(transaction)
        })
    }

    /// Commits in a task of the store's, which goes on should nobody wait for it any more.
    fn commit(
        &self,
        transaction: HandlerTransaction,
        settles: Vec<Settle>,
        now: Now,
    ) -> TransactionFuture<'_, TransactionOutcome> {
        Box::pin(async move {
            let transaction = match transaction.downcast::<Transaction>() {
                Ok(transaction) => *transaction,
                // Nothing else is ever begun here.
                Err(_) => return refused(TransactionError::Ended),
            };
            let committing = commit(self.0.clone(), transaction, settles, now);
            let task = self.0.inner().tasks.spawn(committing.in_current_span());
            task.await.unwrap_or_else(|error| {
                let message = "the task that commits ended before its time";
                let error = StoreError::new(StoreErrorKind::TimedOut, message).caused_by(error);
                TransactionOutcome::Unsure(error)
            })
        })
    }

    fn roll_back<'a>(
        &'a self,
        transaction: HandlerTransaction,
        error: Option<&'a (dyn Error + Send + Sync + 'static)>,
    ) -> TransactionFuture<'a, bool> {
        Box::pin(async move {
            let may_pass = error.is_some_and(|error| may_pass(error));
            let Ok(transaction) = transaction.downcast::<Transaction>() else { return may_pass };
            let is_closed = transaction.is_closed();
            transaction.roll_back().await;
            may_pass || is_closed
        })
    }
}

async fn commit(
    store: PostgresStore,
    transaction: Transaction,
    settles: Vec<Settle>,
    now: Now,
) -> TransactionOutcome {
    let backend = transaction.backend;
    let error = match transaction.commit(&settles, now).await {
        Commit::Done(states) => return TransactionOutcome::Committed(states),
        Commit::Lost => {
            return match store.lost(&settles).await {
                Ok(message_ids) => TransactionOutcome::LeaseLost(message_ids),
                Err(error) => TransactionOutcome::Failed(error),
            };
        }
        Commit::Conflict(error) => return TransactionOutcome::Conflict(error),
        Commit::Refused(error) => return refused(error),
        Commit::Failed(error) => return TransactionOutcome::Failed(error),
        Commit::Unsure(error) => error,
    };
    // Without a delivery there is no trace of it.
    if settles.is_empty() {
        return TransactionOutcome::Unsure(error);
    }
    tracing::debug!(%error, "the answer to a commit was lost: it is looked up");
    match store.was_settled(&settles, backend).await {
        Ok(true) => {
            // What was scheduled with it is there.
            store.ring_everywhere();
            let states = settles.iter().map(|one| one.settlement.state());
            TransactionOutcome::Committed(states.collect::<Vec<DeliveryState>>())
        }
        Ok(false) => TransactionOutcome::Conflict(error),
        Err(error) => TransactionOutcome::Unsure(error),
    }
}

fn refused(error: TransactionError) -> TransactionOutcome {
    TransactionOutcome::Refused(Failure::new(error))
}
