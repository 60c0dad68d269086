use std::time::Duration;

use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, Inspect as _, Settle, StoreError};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::PostgresStore;
use crate::sql::Sql;

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(100);

/// The first delivery of a run, by what its row says after it was settled.
pub(super) struct First {
    pub(super) handler_key: String,
    pub(super) attempt: u32,
}

impl PostgresStore {
    /// Whether the transaction was committed that was to settle this delivery, with others or alone. The
    /// server may still be at it, which is waited for.
    pub(super) async fn was_settled(
        &self,
        first: &First,
        settles: &[Settle],
    ) -> Result<bool, StoreError> {
        let until = Instant::now() + self.call_timeout();
        loop {
            match self.is_settled(first, settles).await {
                Err(error) if error.is_transient() && Instant::now() < until => sleep(PAUSE).await,
                answer => return answer,
            }
        }
    }

    async fn is_settled(&self, first: &First, settles: &[Settle]) -> Result<bool, StoreError> {
        let tokens: Vec<_> =
            settles.iter().map(|one| Uuid::from_u128(one.token.as_u128())).collect();
        self.query(Sql::unit_wait, &[&tokens]).await?;
        let Some(settle) = settles.first() else { return Ok(false) };
        let record = self.show(settle.message_id).await?;
        let mut deliveries = record.into_iter().flat_map(|record| record.deliveries);
        // A cancellation takes the place of a retry or a death, never of an end that the handler chose.
        let is_done = matches!(settle.settlement, Settlement::Done(_));
        let is_settled = |state: DeliveryState| {
            state == settle.settlement.state() || (!is_done && state == DeliveryState::Cancelled)
        };
        Ok(deliveries.any(|found| {
            found.handler_key.as_deref() == Some(&*first.handler_key)
                && is_settled(found.state)
                && found.attempts == first.attempt
        }))
    }
}
