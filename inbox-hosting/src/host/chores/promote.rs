use std::time::Duration;

use inbox_core::store::{Bell, BellListener, LeaseStore as _, Maintain as _, Store, StoreError};
use tokio::time::{Instant, sleep, sleep_until};

use super::ChoreName;
use super::chore::{Chore, Round};
use super::pages::{PAGE, pages};
use crate::Inbox;
use crate::host::shared::Shared;

impl ChoreName {
    /// Makes due deliveries ready.
    pub const PROMOTE: Self = Self::new("promote");
}

/// Between two rounds that the bell calls for: under load it rings all the time.
const BREATH: Duration = Duration::from_millis(50);

/// The longest time without a round, whatever the poll interval.
const LONGEST: Duration = Duration::from_secs(1);

/// Makes due deliveries ready, and sleeps until the next one is due.
pub(super) struct Promote {
    bell: Option<BellListener>,
}

impl<S: Store> Chore<S> for Promote {
    const NAME: ChoreName = ChoreName::PROMOTE;
    const INTERVAL: Duration = LONGEST;

    fn begin(shared: &Shared<S>) -> Self {
        Self { bell: shared.inbox.port().bell().map(Bell::listener) }
    }

    async fn round(&mut self, shared: &Shared<S>) -> Result<Round, StoreError> {
        let inbox = &shared.inbox;
        promote_due(inbox).await?;
        let due = inbox.port().next_due(inbox.scheduler().clock().now()).await?;
        Ok(Round::DoneFor(until_next(due, shared.options().poll_interval)))
    }

    /// Until the bell rings, too: a delivery may be due earlier now.
    async fn rest(&mut self, time: Duration) {
        let begun = Instant::now();
        sleep(time.min(BREATH)).await;
        let end = sleep_until(begun + time);
        match &mut self.bell {
            Some(bell) => tokio::select! {
                () = end => {}
                () = bell.heard() => {}
            },
            None => end.await,
        }
    }
}

/// Makes due deliveries ready.
pub(in crate::host) async fn promote_due<S: Store>(inbox: &Inbox<S>) -> Result<(), StoreError> {
    pages(|| inbox.port().promote(PAGE, inbox.scheduler().clock().now())).await
}

/// How long to rest if the next delivery is due after `due`.
fn until_next(due: Option<Duration>, poll_interval: Duration) -> Duration {
    let longest = poll_interval.min(LONGEST);
    match due {
        // Another transaction holds a delivery that is due and was not promoted: not at once again.
        Some(Duration::ZERO) => BREATH.min(longest),
        Some(due) => due.min(longest),
        None => longest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promote_rests_until_the_next_delivery_is_due_or_the_poll_interval_is_over() {
        let (milli, second, hour) =
            (Duration::from_millis(1), Duration::from_secs(1), Duration::from_hours(1));
        assert_eq!(until_next(None, hour), second);
        assert_eq!(until_next(Some(hour), hour), second);
        assert_eq!(until_next(Some(milli), hour), milli);
        assert_eq!(until_next(Some(Duration::ZERO), hour), BREATH);
        // A shorter poll interval holds.
        assert_eq!(until_next(None, milli), milli);
        assert_eq!(until_next(Some(second), milli), milli);
        assert_eq!(until_next(Some(Duration::ZERO), milli), milli);
    }
}
