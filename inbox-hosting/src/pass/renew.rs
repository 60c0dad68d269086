use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::{LeaseToken, Renewed, Store, StoreError, StoreErrorKind};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use super::keep::Keeper;

impl<S: Store> Keeper<'_, S> {
    pub(super) fn duration(&self) -> Duration {
        self.inbox.parts().lease_duration
    }

    pub(super) fn next_renewal(&self) -> Instant {
        self.renewed + self.duration() / 3
    }

    pub(super) async fn renew_forever(&mut self) -> Infallible {
        loop {
            tokio::time::sleep_until(self.next_renewal()).await;
            if !self.renew().await {
                // Not at once: whatever is wrong needs a moment.
                tokio::time::sleep(self.duration() / 10).await;
            }
        }
    }

    /// Renews every lease; what is lost is stopped and forgotten. Answers whether the store did.
    pub(super) async fn renew(&mut self) -> bool {
        let tokens: Vec<_> = self.leases.keys().copied().collect();
        if tokens.is_empty() {
            self.renewed = Instant::now();
            return true;
        }
        let (asked, now) = (Instant::now(), self.inbox.scheduler().clock().now());
        let store = Arc::clone(self.inbox.store());
        let renewal = store.renew(tokens.clone(), self.duration(), now);
        // Whatever the store does: after that moment the leases are not ours to rely on.
        match timeout_at(self.renewed + self.duration(), renewal).await.unwrap_or_else(late) {
            Ok(renewed) if renewed.len() == tokens.len() => {
                self.renewed = asked;
                for (token, renewed) in tokens.iter().zip(renewed) {
                    match renewed {
                        Ok(renewed) => self.goes_on(*token, renewed),
                        Err(lost) => {
                            tracing::warn!(error = %lost, "lease lost");
                            self.forget(*token);
                        }
                    }
                }
                self.stop_what_is_cancelled();
                true
            }
            Ok(_) => {
                tracing::error!("the store did not answer for every lease it was to renew");
                false
            }
            Err(error) => {
                tracing::warn!(%error, "could not renew leases");
                if self.renewed.elapsed() >= self.duration() {
                    // By now they are another's.
                    for token in tokens {
                        self.forget(token);
                    }
                }
                false
            }
        }
    }

    fn goes_on(&mut self, token: LeaseToken, renewed: Renewed) {
        if let Some(lease) = self.leases.get_mut(&token) {
            lease.held.renewed(renewed.expires_at);
            lease.cancelled = renewed.cancelled;
        }
    }

    fn forget(&mut self, token: LeaseToken) {
        if let Some(lease) = self.leases.remove(&token) {
            lease.stop();
        }
    }
}

fn late<T>(_: Elapsed) -> Result<T, StoreError> {
    let message = "the store did not renew the leases before they expired";
    Err(StoreError::new(StoreErrorKind::TimedOut, message))
}
