use std::time::Duration;

use inbox_core::store::{Store, StoreError};

use super::ChoreName;
use crate::host::shared::Shared;

/// How long a round may take. Longer than a call of a store usually may, whose own error says more.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A maintenance duty of a host.
pub(super) trait Chore<S: Store>: Send + Sized + 'static {
    /// What health calls it.
    const NAME: ChoreName;

    /// From the end of a round to the next one.
    const INTERVAL: Duration;

    /// A round that takes longer has failed.
    const TIMEOUT: Duration = TIMEOUT;

    /// Begins, also again after a panic.
    fn begin(shared: &Shared<S>) -> Self;

    /// Does the work once. Dropped in the middle if it takes too long.
    fn round(
        &mut self,
        shared: &Shared<S>,
    ) -> impl Future<Output = Result<Round, StoreError>> + Send;

    /// Waits before the next round, for so long at most.
    fn rest(&mut self, time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }
}

/// How a round ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    /// The work is done; the next round is due after the interval.
    Done,
    /// The work is done; the next round is due after this time.
    DoneFor(Duration),
    /// It is too early for the work. An error of an earlier round stands until a round does the work.
    TooEarly,
}

impl Round {
    /// How often a chore looks whether it is still too early, at least. That costs no statement.
    const LOOK: Duration = Duration::from_secs(1);

    /// How long the chore rests after the round.
    pub(super) fn rest(self, interval: Duration) -> Duration {
        match self {
            Self::Done => interval,
            Self::DoneFor(time) => time,
            Self::TooEarly => interval.min(Self::LOOK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chore_that_came_too_early_looks_again_soon() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_mins(1));
        assert_eq!(Round::TooEarly.rest(minute), second);
        assert_eq!(Round::TooEarly.rest(second / 2), second / 2);
        assert_eq!(Round::Done.rest(minute), minute);
        assert_eq!(Round::DoneFor(second).rest(minute), second);
    }
}
