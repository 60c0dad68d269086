use std::fmt;
use std::sync::Arc;

use tower::ServiceExt as _;

use super::settlements;
use crate::handler::{Handler, HandlerFuture, HandlerService};
use crate::outcome::{HandlerError, Outcomes, RetryLimits};
use crate::request::Request;
use crate::store::{HandlerTransactions, StoreError, StoreErrorKind, TransactionOutcome};

/// A handler with its timeout, in a transaction of the store's: neither the wait for the beginning nor the
/// commit is cut off by the timeout.
///
/// A run that succeeds is committed together with what becomes of its deliveries, whatever that is. A run
/// that fails is rolled back, and settled afterwards by whoever holds the leases.
pub(super) struct InTransaction {
    transactions: Arc<dyn HandlerTransactions>,
    limits: Arc<RetryLimits>,
    inner: HandlerService,
}

impl InTransaction {
    pub(super) fn service(
        transactions: Arc<dyn HandlerTransactions>,
        limits: Arc<RetryLimits>,
        inner: HandlerService,
    ) -> HandlerService {
        HandlerService::new(Arc::new(Self { transactions, limits, inner }))
    }

    async fn run(&self, request: Request) -> Result<Outcomes, HandlerError> {
        let provides = self.transactions.provides();
        let transaction =
            self.transactions.begin().await.map_err(|error| match may_pass(&error) {
                true => HandlerError::TransactionNotBegun(error),
                false => HandlerError::Layer(error.into()),
            })?;
        request.lend_any(provides, transaction);
        let run = self.inner.clone().oneshot(request.clone()).await;
        match (run, request.reclaim_any(provides)) {
            (Ok(outcomes), Some(transaction)) => {
                let settlements = settlements(&request, &outcomes, &self.limits);
                let settles = request.attempts().zip(&settlements);
                let settles: Vec<_> =
                    settles.filter_map(|(attempt, one)| attempt.settle(one.clone())).collect();
                let is_stored = !settles.is_empty();
                let now = request.scheduler().clock().now();
                let committing = self.transactions.commit(transaction, settles, now);
                let states = committed(committing.await)?;
                if is_stored {
                    request.set_settled(settlements.into_iter().zip(states).collect());
                }
                Ok(outcomes)
            }
            (Ok(_), None) => Err(HandlerError::TransactionDropped),
            (Err(error), Some(transaction)) => {
                let may_pass = self.transactions.roll_back(transaction, error.answered()).await;
                Err(if may_pass { HandlerError::Conflict(Box::new(error)) } else { error })
            }
            // It was dropped with the handler.
            (Err(error), None) => Err(error),
        }
    }
}

/// Whether the store may be there again in a moment.
fn may_pass(error: &StoreError) -> bool {
    error.is_transient() || error.kind() == StoreErrorKind::CannotOpen
}

fn committed(
    outcome: TransactionOutcome,
) -> Result<Vec<crate::store::DeliveryState>, HandlerError> {
    Err(match outcome {
        TransactionOutcome::Committed(states) => return Ok(states),
        TransactionOutcome::LeaseLost(message_ids) => HandlerError::LeaseLost { message_ids },
        TransactionOutcome::Conflict(error) => {
            HandlerError::Conflict(Box::new(HandlerError::Layer(error.into())))
        }
        TransactionOutcome::Refused(failure) => HandlerError::Failed(failure),
        TransactionOutcome::Failed(error) => HandlerError::Layer(error.into()),
        TransactionOutcome::Unsure(error) => HandlerError::Unsure(error),
    })
}

impl Handler for InTransaction {
    fn call(self: Arc<Self>, request: Request) -> HandlerFuture {
        Box::pin(async move { self.run(request).await })
    }
}

impl fmt::Debug for InTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InTransaction").finish_non_exhaustive()
    }
}
