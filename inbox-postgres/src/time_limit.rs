use std::time::Duration;

use inbox_core::store::{StoreError, StoreErrorKind};
use tokio::time::timeout;

use crate::PostgresStore;

impl PostgresStore {
    /// Gives up waiting after the time for any call.
    pub(crate) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.in_time_and(Duration::ZERO, answer).await
    }

    /// The same, for what may take this much longer than others.
    pub(crate) async fn in_time_and<T>(
        &self,
        longer: Duration,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        answer_within(self.call_timeout().saturating_add(longer), answer).await
    }
}

/// Gives up waiting after so long.
pub(crate) async fn answer_within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(limit, answer).await.unwrap_or_else(|_| {
        let message = format!(
            "the database gave no answer within {limit:?}, so what was asked may have happened \
             or not: look, or do it again with the same idempotency key"
        );
        Err(StoreError::new(StoreErrorKind::TimedOut, message))
    })
}
