use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::{Bell, BellListener, Reclaimed, Store, StoreError};
use tokio::time::{Instant, sleep, sleep_until};

use super::pause::Pause;
use super::shared::Shared;
use super::{Event, HostLoop};
use crate::fleet::SIGHT;

/// Between two rounds that the bell calls for: under load it rings all the time.
const BREATH: Duration = Duration::from_millis(50);

/// Between two looks for what vanished workers held, and for what nobody routed.
const SWEEP: Duration = Duration::from_secs(1);

/// Between two looks at lanes and slots: every verb hands them on by itself.
const MEND: Duration = Duration::from_secs(10);

/// How long nothing is brought back after an outage: others found out as late as this one.
const GRACE: Duration = Duration::from_secs(5);

/// Makes ready what has become due, and brings back what vanished workers held. Sleeps until the next
/// delivery is due.
pub(super) async fn upkeep<S: Store>(shared: Arc<Shared<S>>) {
    let board = &shared.control.board;
    let mut bell = shared.inbox.store().bell().map(Bell::listener);
    let mut pause = Pause::new(Duration::from_millis(100), Duration::from_secs(5));
    let mut sweep = Sweep::new();
    loop {
        match round(&shared, &mut sweep).await {
            Ok(until_due) => {
                board.well(HostLoop::Upkeep);
                pause.reset();
                let longest = shared.options().poll_interval.min(SWEEP);
                // What is due and was not moved is in someone else's hands: not at once again.
                let due = until_due.map(|due| if due.is_zero() { BREATH } else { due });
                rest(due.map_or(longest, |due| due.min(longest)), &mut bell).await;
            }
            Err(error) => {
                board.failed(HostLoop::Upkeep, &error);
                sleep(pause.next()).await;
            }
        }
    }
}

/// When the next look for what vanished workers held is due, and whether the store was away before.
#[derive(Debug)]
struct Sweep {
    next: Option<Instant>,
    /// When the next look for what nobody serves is due. The first one is when others that start now had
    /// the time to say that they are there.
    next_orphans: Instant,
    /// When lanes and slots are looked over next.
    mend: Option<Instant>,
    was_away: bool,
}

impl Sweep {
    fn new() -> Self {
        Self { next: None, next_orphans: Instant::now() + SIGHT, mend: None, was_away: false }
    }
}

/// One round; answers how long it is until the next delivery is due. What fails keeps nothing else from
/// being done.
async fn round<S: Store>(
    shared: &Shared<S>,
    sweep: &mut Sweep,
) -> Result<Option<Duration>, StoreError> {
    let until_due = move_due(shared).await;
    let is_back = until_due.is_ok() && sweep.was_away;
    sweep.was_away = until_due.is_err();
    if is_back {
        // Everyone is first given the time to say that he is alive.
        sweep.next = Some(Instant::now() + GRACE);
        sweep.next_orphans = Instant::now() + SIGHT;
    }
    // At once also after an outage: others look who is there.
    let announced = shared.inbox.announce().await;
    if sweep.next.is_none_or(|next| next <= Instant::now()) {
        bring_back(shared).await?;
        sweep.next = Some(Instant::now() + SWEEP);
        if sweep.mend.is_none_or(|next| next <= Instant::now()) {
            shared.inbox.mend_shared().await?;
            sweep.mend = Some(Instant::now() + MEND);
        }
    }
    announced?;
    if sweep.next_orphans <= Instant::now() {
        give_up_orphans(shared).await?;
        sweep.next_orphans = Instant::now() + SIGHT;
    }
    until_due
}

async fn move_due<S: Store>(shared: &Shared<S>) -> Result<Option<Duration>, StoreError> {
    let inbox = &shared.inbox;
    give_up_lost(shared).await?;
    inbox.promote_due().await?;
    inbox.store().next_due(inbox.scheduler().clock().now()).await
}

/// Brings back what vanished workers held, and routes what nobody routed.
async fn bring_back<S: Store>(shared: &Shared<S>) -> Result<(), StoreError> {
    let reclaimed = shared.inbox.reclaim_expired().await?;
    if reclaimed.moved() > 0 {
        let Reclaimed { returned, dead, cancelled } = reclaimed;
        tracing::warn!(returned, dead, cancelled, "brought back what vanished workers held");
        shared.observers.tell(|| Event::Reclaimed(reclaimed));
    }
    shared.inbox.route_unrouted().await
}

/// Gives up what no live host serves.
async fn give_up_orphans<S: Store>(shared: &Shared<S>) -> Result<(), StoreError> {
    let dead = shared.inbox.give_up_orphans().await?;
    if dead > 0 {
        shared.observers.tell(|| Event::Orphaned(dead));
    }
    Ok(())
}

/// Tells the store of leases that this host could not renew in time, before anyone reclaims them.
async fn give_up_lost<S: Store>(shared: &Shared<S>) -> Result<(), StoreError> {
    let (inbox, lost) = (&shared.inbox, shared.leases.take_lost());
    if lost.is_empty() {
        return Ok(());
    }
    let released = inbox.store().release(lost.clone(), inbox.scheduler().clock().now()).await;
    released.map(drop).inspect_err(|_| shared.leases.still_lost(lost))
}

/// Waits for so long, or until the bell rings: something may be due earlier now.
async fn rest(time: Duration, bell: &mut Option<BellListener>) {
    let begun = Instant::now();
    sleep(time.min(BREATH)).await;
    let end = sleep_until(begun + time);
    match bell {
        Some(bell) => tokio::select! {
            () = end => {}
            () = bell.heard() => {}
        },
        None => end.await,
    }
}
