use std::time::Duration;

use inbox_core::store::{StoreError, StoreErrorKind};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::connection::Place;

pub(crate) async fn received<T: Send + 'static>(
    place: &Place,
    answer: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let answer = match place {
        Place::File(_) => answer.await.ok(),
        // A test may have paused the runtime's clock, which then runs on by itself unless some
        // blocking work is under way. Waiting for our thread is.
        Place::Memory => {
            let waiting = tokio::task::spawn_blocking(|| answer.blocking_recv().ok());
            waiting.await.ok().flatten()
        }
    };
    answer.unwrap_or_else(|| Err(closed(place)))
}

pub(crate) async fn in_time<T>(
    place: &Place,
    limit: Option<Duration>,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match limit {
        Some(limit) => timeout(limit, answer).await.unwrap_or_else(|_| Err(late(place, limit))),
        None => answer.await,
    }
}

pub(crate) fn closed(place: &Place) -> StoreError {
    StoreError::new(StoreErrorKind::Closed, format!("{place} was closed"))
}

fn late(place: &Place, after: Duration) -> StoreError {
    let message = format!(
        "{place} gave no answer within {after:?}, so what was asked may have happened or not: look, \
         or do it again with the same idempotency key"
    );
    StoreError::new(StoreErrorKind::TimedOut, message)
}
