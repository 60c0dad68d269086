use std::any::TypeId;
use std::error::Error;
use std::sync::Arc;

use inbox_core::Now;
use inbox_core::store::{
    HandlerTransaction, HandlerTransactions, Settle, StoreError, TransactionFuture,
    TransactionOutcome,
};

use super::call::Call;
use super::{Meter, StoreVerb};

/// The transactions that handlers run in: on this way, too, deliveries are settled.
pub(super) struct MeteredTransactions {
    pub(super) transactions: Arc<dyn HandlerTransactions>,
    pub(super) meter: Arc<Meter>,
}

impl HandlerTransactions for MeteredTransactions {
    fn provides(&self) -> TypeId {
        self.transactions.provides()
    }

    fn begin(&self) -> TransactionFuture<'_, Result<HandlerTransaction, StoreError>> {
        Box::pin(self.meter.watch(StoreVerb::Begin, self.transactions.begin(), |_| None))
    }

    fn commit(
        &self,
        transaction: HandlerTransaction,
        settles: Vec<Settle>,
        now: Now,
    ) -> TransactionFuture<'_, TransactionOutcome> {
        let answer = self.transactions.commit(transaction, settles, now);
        Box::pin(async move {
            let call = Call::begin(&self.meter, StoreVerb::Commit);
            let outcome = call.run(answer).await;
            call.end(settled(&outcome));
            outcome
        })
    }

    fn roll_back<'a>(
        &'a self,
        transaction: HandlerTransaction,
        error: Option<&'a (dyn Error + Send + Sync + 'static)>,
    ) -> TransactionFuture<'a, bool> {
        let answer = self.transactions.roll_back(transaction, error);
        Box::pin(async move {
            let call = Call::begin(&self.meter, StoreVerb::RollBack);
            let may_pass = call.run(answer).await;
            call.end(Ok(None));
            may_pass
        })
    }
}

/// A lost lease and a refusal are answers, not failures of the store.
fn settled(outcome: &TransactionOutcome) -> Result<Option<u64>, &StoreError> {
    match outcome {
        TransactionOutcome::Committed(states) => Ok(Some(states.len() as u64)),
        TransactionOutcome::LeaseLost(_) | TransactionOutcome::Refused(_) => Ok(Some(0)),
        TransactionOutcome::Conflict(error)
        | TransactionOutcome::Failed(error)
        | TransactionOutcome::Unsure(error) => Err(error),
    }
}
