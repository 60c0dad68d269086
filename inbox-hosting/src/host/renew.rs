use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::{LeaseStore as _, Renewer, Store, StoreError, StoreErrorKind};
use tokio::runtime;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::overdue::overdue;
use super::shared::Shared;
use super::supervise::supervise;
use super::{HostError, HostLoop, ShutdownReport};

/// How often it comes around, whether there is anything to renew or not.
const ROUND: Duration = Duration::from_secs(1);

/// Starts the renewer on a thread of its own, with a runtime of its own: handlers that block every
/// thread of the program cannot keep leases from being renewed, nor a shutdown from being over. Answers
/// how to wait for its end.
pub(super) fn apart<S: Store>(
    shared: Arc<Shared<S>>,
    stop: CancellationToken,
    reporting: watch::Sender<Option<ShutdownReport>>,
) -> Result<oneshot::Receiver<()>, HostError> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(HostError::Thread)?;
    let (ending, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("inbox-renewer".to_owned());
    let renewing = move || {
        runtime.block_on(async {
            let overdue = overdue(Arc::clone(&shared.control), shared.stop.clone(), reporting);
            tokio::join!(in_place(shared, stop.clone()), stop.run_until_cancelled(overdue))
        });
        // What the store has under way for us must not outlive the thread, nor hold it.
        runtime.shutdown_background();
        // Nobody may wait.
        let _ = ending.send(());
    };
    thread.spawn(renewing).map_err(HostError::Thread)?;
    Ok(ended)
}

/// Renews the host's leases until it is told to stop.
pub(super) async fn in_place<S: Store>(shared: Arc<Shared<S>>, stop: CancellationToken) {
    let renewing = supervise(Arc::clone(&shared), HostLoop::Renewer, move |shared| async move {
        renew(&shared).await;
    });
    stop.run_until_cancelled(renewing).await;
}

/// Renews the host's leases, for ever.
pub(super) async fn renew<S: Store>(shared: &Shared<S>) {
    let (leases, board) = (&shared.leases, &shared.control.board);
    let mut renewer = shared.inbox.port().renewer();
    board.well(HostLoop::Renewer);
    loop {
        leases.renewal(Instant::now() + ROUND).await;
        leases.expire();
        let Some((tokens, expiry)) = leases.to_renew() else {
            // Nothing is due, so nothing could not be renewed either.
            board.well(HostLoop::Renewer);
            continue;
        };
        let (asked, now) = (Instant::now(), shared.inbox.scheduler().clock().now());
        let renewal = match &mut renewer {
            Some(renewer) => Renewer::renew(&mut **renewer, tokens.clone(), leases.duration(), now),
            None => shared.inbox.port().renew(tokens.clone(), leases.duration(), now),
        };
        // A third of the time that a lease holds, so that there is time for another try.
        let patience =
            expiry.min(asked + leases.duration() / 3).max(asked + leases.duration() / 20);
        let answer = timeout_at(patience, renewal).await.unwrap_or_else(|_| Err(late()));
        match answer {
            Ok(answers) if answers.len() == tokens.len() => {
                leases.renewed(&tokens, answers, asked);
                board.well(HostLoop::Renewer);
            }
            Ok(_) => {
                let message = "the store did not answer for every lease it was to renew";
                board.failed(HostLoop::Renewer, &StoreError::new(StoreErrorKind::Other, message));
                tokio::time::sleep(leases.duration() / 10).await;
            }
            Err(error) => {
                board.failed(HostLoop::Renewer, &error);
                // Not at once: whatever is wrong needs a moment.
                tokio::time::sleep((leases.duration() / 20).min(ROUND)).await;
            }
        }
    }
}

fn late() -> StoreError {
    let message = "the store did not renew the leases in time";
    StoreError::new(StoreErrorKind::TimedOut, message)
}
