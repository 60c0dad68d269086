use std::any::TypeId;

use inbox_core::Now;
use inbox_core::dispatch::{Ended, HeldLeases, Request, Unit, UnitFuture};
use inbox_core::handler::{Failure, HandlerError};
use inbox_core::schedule::Scheduler;
use inbox_core::settle::{DoneOutcome, Settlement};
use inbox_core::store::{Settle, StoreError, StoreErrorKind};
use tracing::Instrument as _;

use super::commit::Commit;
use super::error::may_pass;
use super::{Mark, Transaction, TransactionError};
use crate::PostgresStore;

/// Runs handlers in transactions of a store.
#[derive(Debug)]
pub(crate) struct TransactionUnit(pub(crate) PostgresStore);

impl Unit for TransactionUnit {
    fn lends(&self) -> TypeId {
        TypeId::of::<Transaction>()
    }

    fn begin<'a>(&'a self, request: &'a Request) -> UnitFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let transaction = Transaction::begin(&self.0).await?;
            request.extend(transaction.mark.clone());
            request.lend(transaction);
            Ok(())
        })
    }

    fn end<'a>(
        &'a self,
        request: &'a Request,
        run: Result<(), HandlerError>,
    ) -> UnitFuture<'a, Ended> {
        Box::pin(async move {
            // A layer may have left a handler of an earlier run behind, which gave its own back.
            let is_ours = |it: &Transaction| request.extension::<Mark>() == Some(it.mark.clone());
            match (run, request.reclaim::<Transaction>().filter(is_ours)) {
                (Ok(()), Some(transaction)) => self.commit(transaction, request).await,
                (Ok(()), None) => {
                    let error = Failure::new(TransactionError::Dropped);
                    Ended::Failed(HandlerError::Failed(error))
                }
                (Err(error), Some(transaction)) => {
                    let again = transaction.is_closed() || may_pass(&error);
                    transaction.roll_back().await;
                    if again { Ended::Again(error) } else { Ended::Failed(error) }
                }
                // It was dropped with the handler.
                (Err(error), None) => Ended::Failed(error),
            }
        })
    }
}

impl TransactionUnit {
    /// Commits in a task of the store's, which goes on should nobody wait for it any more.
    async fn commit(&self, transaction: Transaction, request: &Request) -> Ended {
        let (store, request) = (self.0.clone(), request.clone());
        let committing = async move { commit(&store, transaction, &request).await };
        let task = self.0.inner().tasks.spawn(committing.in_current_span());
        task.await.unwrap_or_else(|error| {
            let message = "the task that commits ended before its time";
            let error = StoreError::new(StoreErrorKind::TimedOut, message).caused_by(error);
            Ended::Failed(HandlerError::Unsure(error))
        })
    }
}

async fn commit(store: &PostgresStore, transaction: Transaction, request: &Request) -> Ended {
    let settles = settles(request);
    let now = request.extension::<Scheduler>().map_or(Now::OfStore, |it| it.clock().now());
    let error = match transaction.commit(&settles, now).await {
        Commit::Done if settles.is_empty() => return Ended::Committed,
        Commit::Done => return Ended::Settled,
        Commit::Lost(message_ids) => {
            return Ended::Failed(HandlerError::LeaseLost { message_ids });
        }
        Commit::Again(error) => return Ended::Again(HandlerError::Layer(error.into())),
        Commit::Failed(error) => return Ended::Failed(error),
        Commit::Unsure(error) => error,
    };
    // Without a delivery there is no trace of it.
    if settles.is_empty() {
        return Ended::Failed(HandlerError::Unsure(error));
    }
    tracing::debug!(%error, "the answer to a commit was lost: it is looked up");
    match store.was_settled(request.delivery(), &settles).await {
        Ok(true) => {
            // What was scheduled with it is there.
            store.ring_everywhere();
            Ended::Settled
        }
        Ok(false) => Ended::Again(HandlerError::Layer(error.into())),
        Err(error) => Ended::Failed(HandlerError::Unsure(error)),
    }
}

/// How the deliveries of a request that succeeded are settled: those that are stored.
fn settles(request: &Request) -> Vec<Settle> {
    let Some(leases) = request.extension::<HeldLeases>() else { return Vec::new() };
    let settle = |message_id| {
        let token = leases.of(message_id)?.token();
        let settlement = Settlement::Done(DoneOutcome::Completed);
        Some(Settle { token, message_id, settlement })
    };
    request.deliveries().filter_map(|delivery| settle(delivery.message.id)).collect()
}
