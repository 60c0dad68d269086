//! Claims of workers, which may know of ordering keys, limits and tenants, and renewals.

mod answer;
mod claim;
mod claimed;
mod outcome;
mod parameters;
mod quarantine;
pub(crate) mod renew;
mod steps;
pub(crate) mod watermark;
mod wrong_answer;

use std::time::Duration;

use inbox_core::Now;
use inbox_core::store::{
    Bell, Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Listening, Renewed, Renewer,
    StoreError, StoreErrorKind, StoreFuture,
};

use crate::PostgresStore;
use crate::wake::RenewerApart;

use claimed::Claimed;
pub(crate) use parameters::ClaimParameters;
use renew::renew;

impl LeaseStore for PostgresStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        Box::pin(async move {
            if request.wanted.is_empty() {
                return Ok(Vec::new());
            }
            // In a task of its own: what is claimed is either received or released.
            let store = self.clone();
            let claim = self
                .inner()
                .tasks
                .spawn(async move { store.in_time(store.claim(&request, now)).await });
            claim.await.unwrap_or_else(|_| Err(stopped())).map(Claimed::keep)
        })
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        Box::pin(async move {
            self.in_time(async {
                let mut working = self.connection().await?;
                let client = self.client(working.get()?);
                let answer = renew(self, client, &tokens, duration, now).await;
                working.done_with(&answer);
                answer
            })
            .await
        })
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.inner().bell)
    }

    fn listen(&self) -> Option<StoreFuture<'_, Listening>> {
        let direct = self.inner().direct.as_ref()?;
        Some(Box::pin(self.listen_on(direct)))
    }

    fn renewer(&self) -> Option<Box<dyn Renewer>> {
        Some(Box::new(RenewerApart::new(self.clone())))
    }
}

fn stopped() -> StoreError {
    StoreError::new(StoreErrorKind::Closed, "the runtime is shutting down")
}
