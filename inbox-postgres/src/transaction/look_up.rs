use std::time::Duration;

use inbox_core::dispatch::Delivery;
use inbox_core::store::{DeliveryState, Inspect as _, Settle, StoreError};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::PostgresStore;
use crate::sql::Sql;

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(100);

impl PostgresStore {
    /// Whether the transaction was committed that was to settle this delivery, with others or alone. The
    /// server may still be at it, which is waited for.
    pub(super) async fn was_settled(
        &self,
        delivery: &Delivery,
        settles: &[Settle],
    ) -> Result<bool, StoreError> {
        let until = Instant::now() + self.call_timeout();
        loop {
            match self.is_settled(delivery, settles).await {
                Err(error) if error.is_transient() && Instant::now() < until => sleep(PAUSE).await,
                answer => return answer,
            }
        }
    }

    async fn is_settled(
        &self,
        delivery: &Delivery,
        settles: &[Settle],
    ) -> Result<bool, StoreError> {
        let tokens: Vec<_> =
            settles.iter().map(|one| Uuid::from_u128(one.token.as_u128())).collect();
        self.query(Sql::unit_wait, &[&tokens]).await?;
        let record = self.show(delivery.message.id).await?;
        let mut deliveries = record.into_iter().flat_map(|record| record.deliveries);
        Ok(deliveries.any(|found| {
            found.handler_key.as_deref() == Some(&*delivery.handler_key)
                && found.state == DeliveryState::Completed
                && found.attempts == delivery.attempt
        }))
    }
}
