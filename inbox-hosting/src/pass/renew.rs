use std::convert::Infallible;
use std::time::Duration;

use inbox_core::store::{LeaseToken, Store};
use tokio::time::Instant;

use super::keep::Keeper;

impl<S: Store> Keeper<'_, S> {
    fn duration(&self) -> Duration {
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
        match self.inbox.store().renew(tokens.clone(), self.duration(), now).await {
            Ok(renewed) => {
                self.renewed = asked;
                for (token, renewed) in tokens.iter().zip(renewed) {
                    match renewed {
                        Ok(until) => {
                            self.leases.get(token).inspect(|lease| lease.held.renewed(until));
                        }
                        Err(lost) => {
                            tracing::warn!(error = %lost, "lease lost");
                            self.forget(*token);
                        }
                    }
                }
                true
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

    fn forget(&mut self, token: LeaseToken) {
        if let Some(lease) = self.leases.remove(&token) {
            lease.stop();
        }
    }
}
