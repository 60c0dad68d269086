use std::time::Duration;

use inbox_core::store::{HostRecord, Maintain as _, OrphanTerms, Store, StoreError};
use tokio::time::Instant;

use super::ChoreName;
use super::beats::SIGHT;
use super::chore::{Chore, Round};
use super::log::DeliveryLog;
use super::pages::PAGE;
use crate::host::Event;
use crate::host::shared::Shared;

impl ChoreName {
    /// Dead-letters deliveries that no live host serves.
    pub const ORPHANS: Self = Self::new("orphans");
}

/// Dead-letters deliveries that no live host serves. Waits until the heartbeats of this host have been
/// taken for a while: after a start or an outage, the other hosts need the time to say that they live.
pub(super) struct Orphans {
    /// Nothing is dead-lettered before.
    not_before: Instant,
}

impl<S: Store> Chore<S> for Orphans {
    const NAME: ChoreName = ChoreName::ORPHANS;
    const INTERVAL: Duration = SIGHT;

    fn begin(_: &Shared<S>) -> Self {
        Self { not_before: Instant::now() + SIGHT }
    }

    async fn round(&mut self, shared: &Shared<S>) -> Result<Round, StoreError> {
        let (inbox, now) = (&shared.inbox, Instant::now());
        let steady = inbox.parts().beats.steady_since().is_some_and(|since| since + SIGHT <= now);
        if !steady || now < self.not_before {
            return Ok(Round::TooEarly);
        }
        // Also if this round fails, or is dropped while it waits.
        self.not_before = now + SIGHT;
        let grace = inbox.parts().host.orphan_grace;
        let terms = OrphanTerms { grace, alive_for: HostRecord::ALIVE_FOR };
        let store_now = inbox.scheduler().clock().now();
        let dead = inbox.port().give_up_orphans(terms, PAGE, store_now).await?;
        if !dead.is_empty() {
            DeliveryLog::default().orphaned(&dead);
            shared.observers.tell(|| Event::Orphaned(dead));
        }
        Ok(Round::Done)
    }
}
