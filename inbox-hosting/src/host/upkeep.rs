use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::{Bell, BellListener, Store, StoreError};
use tokio::time::{Instant, sleep, sleep_until};

use super::pause::Pause;
use super::shared::Shared;
use super::{Event, HostLoop};

/// Between two rounds that the bell calls for: under load it rings all the time.
const BREATH: Duration = Duration::from_millis(50);

/// Between two looks for what vanished workers held, and for what nobody routed.
const SWEEP: Duration = Duration::from_secs(1);

/// Makes ready what has become due, and brings back what vanished workers held. Sleeps until the next
/// delivery is due.
pub(super) async fn upkeep<S: Store>(shared: Arc<Shared<S>>) {
    let board = &shared.control.board;
    let mut bell = shared.inbox.store().bell().map(Bell::listener);
    let mut pause = Pause::new(Duration::from_millis(100), Duration::from_secs(5));
    let mut swept = None;
    loop {
        match round(&shared, &mut swept).await {
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

/// One round; answers how long it is until the next delivery is due.
async fn round<S: Store>(
    shared: &Shared<S>,
    swept: &mut Option<Instant>,
) -> Result<Option<Duration>, StoreError> {
    let inbox = &shared.inbox;
    if swept.is_none_or(|swept| swept.elapsed() >= SWEEP) {
        let reclaimed = inbox.reclaim_expired().await?;
        if reclaimed.moved() > 0 {
            shared.observers.tell(|| Event::Reclaimed(reclaimed));
        }
        inbox.route_unrouted().await?;
        *swept = Some(Instant::now());
    }
    inbox.promote_due().await?;
    inbox.store().next_due(inbox.scheduler().clock().now()).await
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
