use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use inbox_core::store::{StoreError, StoreErrorKind};
use tokio::task::JoinSet;

use super::bench::PATIENCE;

/// Runs all of them at once and answers in no order. None begins before all are there, so that
/// they meet.
pub(crate) async fn all_at_once<F>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let futures: Vec<F> = futures.into_iter().collect();
    let missing = Arc::new(AtomicUsize::new(futures.len()));
    let mut tasks = JoinSet::new();
    for future in futures {
        let missing = Arc::clone(&missing);
        tasks.spawn(async move {
            missing.fetch_sub(1, Ordering::AcqRel);
            while missing.load(Ordering::Acquire) > 0 {
                tokio::task::yield_now().await;
            }
            future.await
        });
    }
    tasks.join_all().await
}

/// Asks again while others hold what is needed, as every caller does: nothing was changed then.
pub(crate) async fn patiently<T, F>(verb: &str, mut call: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        match call().await {
            Ok(answer) => return answer,
            Err(error) if error.kind() == StoreErrorKind::Busy => tokio::task::yield_now().await,
            Err(error) => panic!("{verb} failed: {error} ({:?})", error.kind()),
        }
    }
    panic!("{verb} was busy all the time")
}
