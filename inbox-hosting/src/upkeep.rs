use inbox_core::settle::DeadReason;
use inbox_core::store::{Reclaimed, Store, StoreError};

use crate::{Inbox, PendingReport};

/// Rows that one statement of upkeep moves.
const PAGE: u32 = 1_000;

/// Such statements of a kind in one go: what is ready must not wait for all that is due.
const ROUNDS: usize = 10;

/// What brings deliveries back when nobody asks for it. Every host does it.
impl<S: Store> Inbox<S> {
    /// All of it, once.
    pub(crate) async fn upkeep(&self, report: &mut PendingReport) -> Result<(), StoreError> {
        let reclaimed = self.reclaim_expired().await?;
        report.dead += reclaimed.dead;
        report.cancelled += reclaimed.cancelled;
        self.route_unrouted().await?;
        self.mend_shared().await?;
        self.promote_due().await
    }

    /// Brings back what vanished workers held.
    pub(crate) async fn reclaim_expired(&self) -> Result<Reclaimed, StoreError> {
        let mut all = Reclaimed::default();
        for _ in 0..ROUNDS {
            let reclaimed = self.store().reclaim(PAGE, self.scheduler().clock().now()).await?;
            let Reclaimed { returned, dead, cancelled } = reclaimed;
            if dead > 0 {
                tracing::error!(dead, reason = %DeadReason::LeaseExpired, "dead, with their workers");
            }
            all.returned += returned;
            all.dead += dead;
            all.cancelled += cancelled;
            if reclaimed.moved() < PAGE.into() {
                break;
            }
        }
        Ok(all)
    }

    /// Brings back lanes and slots that nobody would.
    pub(crate) async fn mend_shared(&self) -> Result<(), StoreError> {
        let mended = self.store().mend(PAGE, self.scheduler().clock().now()).await?;
        if mended > 0 {
            tracing::warn!(mended, "mended lanes or slots that nobody held");
        }
        Ok(())
    }

    /// Routes messages that were accepted while their first handler registered.
    pub(crate) async fn route_unrouted(&self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            if self.store().route(PAGE, self.scheduler().clock().now()).await? < PAGE.into() {
                break;
            }
        }
        Ok(())
    }

    /// Makes ready what has become due.
    pub(crate) async fn promote_due(&self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            if self.store().promote(PAGE, self.scheduler().clock().now()).await? < PAGE.into() {
                break;
            }
        }
        Ok(())
    }
}
