use std::time::Duration;

use inbox_core::settle::DeadReason;
use inbox_core::store::{Maintain as _, Reclaimed, Store, StoreError};
use tokio::time::Instant;

use super::ChoreName;
use super::chore::{Chore, Round};
use super::dead_log::DeadLog;
use super::lost::release_lost;
use super::pages::{MOST, PAGE};
use super::run::in_time;
use crate::Inbox;
use crate::host::Event;
use crate::host::shared::Shared;

impl ChoreName {
    /// Takes expired leases away from vanished workers, so that their deliveries run again.
    pub const RECLAIM: Self = Self::new("reclaim");
}

/// How long nothing is reclaimed after an outage: the other hosts notice its end as late as this one, and
/// have to renew, settle or release first.
const GRACE: Duration = Duration::from_secs(5);

/// How long lost leases may take to be released: a part of the round, so that others' are reclaimed even if
/// the store does not answer to that.
const RELEASE: Duration = Duration::from_secs(20);

/// Takes expired leases away from vanished workers.
pub(super) struct Reclaim {
    /// Whether the last call did not succeed: the store may be away.
    is_away: bool,
    /// Nothing is reclaimed before.
    not_before: Instant,
}

impl<S: Store> Chore<S> for Reclaim {
    const NAME: ChoreName = ChoreName::RECLAIM;
    const INTERVAL: Duration = Duration::from_secs(1);

    fn begin(_: &Shared<S>) -> Self {
        Self { is_away: false, not_before: Instant::now() }
    }

    async fn round(&mut self, shared: &Shared<S>) -> Result<Round, StoreError> {
        // First, and in every round: whatever follows would put them under suspicion.
        let released = in_time(RELEASE, release_lost(shared)).await;
        let round = self.reclaim(shared).await?;
        released.map(|()| round)
    }
}

impl Reclaim {
    async fn reclaim<S: Store>(&mut self, shared: &Shared<S>) -> Result<Round, StoreError> {
        let inbox = &shared.inbox;
        if self.is_away {
            // To reclaim nothing tells whether the store is back, and takes nobody's lease.
            inbox.port().reclaim(0, inbox.scheduler().clock().now()).await?;
            self.not_before = Instant::now() + GRACE;
            self.is_away = false;
        }
        if Instant::now() < self.not_before {
            return Ok(Round::TooEarly);
        }
        // Until it has succeeded: it may be dropped while it waits.
        self.is_away = true;
        let reclaimed = reclaim_expired(inbox).await?;
        self.is_away = false;
        if reclaimed.moved() > 0 {
            let Reclaimed { returned, dead, cancelled } = &reclaimed;
            let dead = dead.len();
            tracing::warn!(
                target: "inbox::lease", returned, dead, cancelled, "expired leases reclaimed"
            );
            shared.observers.tell(|| Event::Reclaimed(reclaimed));
        }
        Ok(Round::Done)
    }
}

/// Reclaims expired leases, and answers what became of their deliveries.
pub(super) async fn reclaim_expired<S: Store>(inbox: &Inbox<S>) -> Result<Reclaimed, StoreError> {
    let (mut all, mut log) = (Reclaimed::default(), DeadLog::new(DeadReason::LeaseExpired));
    for _ in 0..MOST {
        let reclaimed = inbox.port().reclaim(PAGE, inbox.scheduler().clock().now()).await?;
        let moved = reclaimed.moved();
        let Reclaimed { returned, dead, cancelled } = reclaimed;
        // At once: should the next page fail, nobody would hear of these.
        log.log(&dead);
        all.returned += returned;
        all.dead.extend(dead);
        all.cancelled += cancelled;
        if moved < PAGE.into() {
            break;
        }
    }
    Ok(all)
}
