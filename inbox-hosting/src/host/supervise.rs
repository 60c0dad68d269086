use std::sync::Arc;
use std::time::Duration;

use inbox_core::store::Store;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::pause::Pause;
use super::shared::Shared;
use super::{Event, HostLoop};

/// A loop that ran for so long before it failed is started again as if it never had.
const LONG: Duration = Duration::from_mins(1);

/// Runs a loop in a task of its own, and starts it again after a while if it panics. Ends with the
/// loop, or with nothing if the pump fails while the host stops; dropped, it stops the loop.
pub(super) async fn supervise<S, T, F>(
    shared: Arc<Shared<S>>,
    name: HostLoop,
    mut begin: impl FnMut(Arc<Shared<S>>) -> F,
) -> Option<T>
where
    S: Store,
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut pause = Pause::new(Duration::from_secs(1), Duration::from_mins(1));
    // Dropped, it aborts what runs in it.
    let mut task = JoinSet::new();
    loop {
        let started = Instant::now();
        task.spawn(begin(Arc::clone(&shared)));
        match task.join_next().await {
            Some(Ok(end)) => return Some(end),
            Some(Err(error)) => {
                if started.elapsed() > LONG {
                    pause.reset();
                }
                let after = pause.next();
                tracing::error!(%error, "the host's {name} failed: it is started again after {after:?}");
                shared.control.board.ill(name, format!("failed: {error}"));
                shared.observers.tell_surely(Event::Restarting(name));
                if name == HostLoop::Pump && shared.stop.is_asked() {
                    return None;
                }
                // A host that is to stop does not wait for its pump: it has nothing left to do.
                tokio::select! {
                    () = tokio::time::sleep(after) => {}
                    () = shared.stop.asked(), if name == HostLoop::Pump => return None,
                }
            }
            // Something was spawned, so something is joined.
            None => {}
        }
    }
}
