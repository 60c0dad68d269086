use std::time::Duration;

use inbox_core::store::{Maintain as _, Reclaimed, Store, StoreError};
use tokio::time::Instant;

use super::ChoreName;
use super::chore::{Chore, Round};
use super::clocks::Clocks;
use super::log::DeliveryLog;
use super::pages::{MOST, PAGE};
use crate::Inbox;
use crate::host::Event;
use crate::host::shared::Shared;

impl ChoreName {
    /// Takes expired leases away from vanished workers, so that their deliveries run again.
    pub const RECLAIM: Self = Self::new("reclaim");
}

/// Takes expired leases away from vanished workers. Not before the store has worked for as long as it takes
/// every living host to renew its leases: after an outage or a failover, all of them have expired; and so after
/// this machine stood still, of which other hosts may be a part. A host that cannot renew its own leases reclaims
/// nothing either: it would take them from itself, and count crashes.
pub(super) struct Reclaim {
    clocks: Clocks,
    /// Whether the last call did not succeed: the store may be away.
    is_away: bool,
    /// Nothing is reclaimed before.
    not_before: Instant,
}

impl<S: Store> Chore<S> for Reclaim {
    const NAME: ChoreName = ChoreName::RECLAIM;
    const INTERVAL: Duration = Duration::from_secs(1);

    fn begin(_: &Shared<S>) -> Self {
        Self { clocks: Clocks::now(), is_away: true, not_before: Instant::now() }
    }

    async fn round(&mut self, shared: &Shared<S>) -> Result<Round, StoreError> {
        let inbox = &shared.inbox;
        let stood_still = self.clocks.gap(Clocks::now()) >= longest_gap(shared.leases.duration());
        self.clocks = Clocks::now();
        if stood_still || shared.leases.is_overdue() {
            self.is_away = true;
            return Ok(Round::TooEarly);
        }
        if self.is_away {
            // To reclaim nothing tells whether the store is back, and takes nobody's lease.
            inbox.port().reclaim(0, inbox.scheduler().clock().now()).await?;
            self.not_before = Instant::now() + shared.leases.renewal_interval();
            self.is_away = false;
        }
        if Instant::now() < self.not_before {
            return Ok(Round::TooEarly);
        }
        // Until it has succeeded: it may be dropped while it waits.
        self.is_away = true;
        let reclaimed = reclaim_expired(inbox).await?;
        (self.is_away, self.clocks) = (false, Clocks::now());
        if reclaimed.moved() > 0 {
            tracing::warn!(
                target: "inbox::lease",
                returned = reclaimed.returned(),
                dead = reclaimed.dead(),
                cancelled = reclaimed.cancelled(),
                "expired leases reclaimed"
            );
            shared.observers.tell(|| Event::Reclaimed(reclaimed));
        }
        Ok(Round::Done)
    }
}

/// The time between two rounds from which on leases may have expired that their hosts had no chance to renew. A
/// lease is renewed with two thirds of it left, so a shorter gap does no harm. Not less than a busy machine may
/// leave between two rounds, or it would never reclaim anything.
fn longest_gap(lease: Duration) -> Duration {
    (lease / 3).max(Duration::from_secs(10))
}

/// Reclaims expired leases, and answers what became of their deliveries.
pub(super) async fn reclaim_expired<S: Store>(inbox: &Inbox<S>) -> Result<Reclaimed, StoreError> {
    let (mut all, mut log) = (Reclaimed::default(), DeliveryLog::default());
    for _ in 0..MOST {
        let reclaimed = inbox.port().reclaim(PAGE, inbox.scheduler().clock().now()).await?;
        let moved = reclaimed.moved();
        // At once: should the next page fail, nobody would hear of these.
        log.reclaimed(&reclaimed.deliveries);
        all.deliveries.extend(reclaimed.deliveries);
        if moved < PAGE.into() {
            break;
        }
    }
    Ok(all)
}
