use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use inbox_core::store::{LeaseStore as _, Maintain as _, Store, StoreError, StoreErrorKind};

use super::HostLoop;
use super::pause::Pause;
use super::shared::Shared;

/// How often it says that it is there.
pub(super) const ROUND: Duration = Duration::from_secs(1);

/// Between two looks of the probe.
pub(super) const PROBE: Duration = Duration::from_secs(2);

/// Hears of what other processes schedule, and begins again whenever that ends. While it does not
/// hear, the pump asks more often.
pub(super) async fn listen<S: Store>(shared: Arc<Shared<S>>) {
    let board = &shared.control.board;
    let mut pause = Pause::new(Duration::from_millis(100), Duration::from_secs(5));
    loop {
        let deaf = Deaf(&shared);
        let Some(connecting) = shared.inbox.port().listen() else { return };
        let ended = match connecting.await {
            Ok(mut listening) => {
                shared.listens.store(true, Ordering::Relaxed);
                pause.reset();
                loop {
                    board.well(HostLoop::Listener);
                    if let Ok(error) = tokio::time::timeout(ROUND, &mut listening).await {
                        break error;
                    }
                }
            }
            Err(error) => error,
        };
        drop(deaf);
        board.failed(HostLoop::Listener, &ended);
        if ended.kind() == StoreErrorKind::Closed {
            // Nobody opens it again; the other loops say the same.
            return;
        }
        tokio::time::sleep(pause.next()).await;
    }
}

/// Notes, however the listening ends, that nobody listens.
struct Deaf<'a, S>(&'a Shared<S>);

impl<S> Drop for Deaf<'_, S> {
    fn drop(&mut self) {
        self.0.listens.store(false, Ordering::Relaxed);
    }
}

/// Looks now and then whether the store can be reached and has the right schema.
pub(super) async fn probe<S: Store>(shared: Arc<Shared<S>>) {
    let board = &shared.control.board;
    let patience = shared.options().stall_after.max(ROUND);
    loop {
        match tokio::time::timeout(patience, shared.inbox.port().check()).await {
            Ok(Ok(())) => board.well(HostLoop::Probe),
            Ok(Err(error)) => board.failed(HostLoop::Probe, &error),
            Err(_) => {
                let message = format!("the store did not answer within {patience:?}");
                board.failed(HostLoop::Probe, &StoreError::new(StoreErrorKind::TimedOut, message));
            }
        }
        tokio::time::sleep(PROBE).await;
    }
}
