use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::{Store, StoreError, StoreErrorKind};
use tokio::time::{sleep, timeout};

use super::chore::{Chore, Round};
use crate::host::HostLoop;
use crate::host::pause::Pause;
use crate::host::shared::Shared;

/// Runs a chore round after round, the first one after `delay`. A round that failed is tried again after a
/// pause that grows.
pub(super) async fn run<S: Store, C: Chore<S>>(shared: Arc<Shared<S>>, delay: Duration) {
    let name = HostLoop::Chore(C::NAME);
    let board = &shared.control.board;
    let mut pause = Pause::new(Duration::from_millis(100), Duration::from_secs(5));
    let mut chore = C::begin(&shared);
    sleep(delay).await;
    loop {
        match in_time(C::TIMEOUT, chore.round(&shared)).await {
            Ok(round) => {
                if round == Round::TooEarly {
                    board.around(name);
                } else {
                    board.well(name);
                    pause.reset();
                }
                chore.rest(round.rest(C::INTERVAL)).await;
            }
            Err(error) => {
                board.failed(name, &error);
                sleep(pause.next()).await;
            }
        }
    }
}

/// The answer of the store, or an error if there is none in time.
pub(super) async fn in_time<T>(
    time: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(time, answer).await.unwrap_or_else(|_| {
        let message = format!("the store did not answer within {time:?}");
        Err(StoreError::new(StoreErrorKind::TimedOut, message))
    })
}
