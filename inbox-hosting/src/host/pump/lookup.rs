use inbox_core::settle::Settlement;
use inbox_core::store::{
    DeliveryRecord, DeliveryState, Inspect as _, LeaseLost, StateStore as _, Store, StoreError,
    StoreErrorKind,
};

use super::decided::Decided;
use crate::host::shared::Shared;

/// Whether an earlier try got no answer, so that what it asked for may have happened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lookup(bool);

impl<S: Store> Shared<S> {
    /// Writes what was decided, once. A handler has run: not to say so would run it twice, so the
    /// caller tries again after an error that may pass.
    pub(super) async fn settle(
        &self,
        decided: &[Decided],
        lookup: &mut Lookup,
    ) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
        let settles = decided.iter().map(|one| one.settle.clone()).collect();
        let (store, now) = (self.inbox.port(), self.inbox.scheduler().clock().now());
        match store.settle(settles, now).await {
            Ok(written) if written.len() != decided.len() => {
                let message = "the store did not answer for every delivery it was to settle";
                Err(StoreError::new(StoreErrorKind::Other, message))
            }
            Ok(written) if lookup.0 => self.looked_up(decided, written).await,
            Ok(written) => Ok(written),
            Err(error) => {
                lookup.0 |= error.kind() == StoreErrorKind::TimedOut;
                Err(error)
            }
        }
    }

    /// What a try wrote that got no answer looks like a lost lease to the next try.
    async fn looked_up(
        &self,
        decided: &[Decided],
        mut written: Vec<Result<DeliveryState, LeaseLost>>,
    ) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
        for (one, written) in decided.iter().zip(&mut written) {
            if written.is_ok() {
                continue;
            }
            let record = match self.inbox.port().show(one.settle.message_id).await {
                Ok(record) => record,
                // Whoever has not the right to look cannot know: to ask again is no use.
                Err(error) if error.kind() == StoreErrorKind::ReadOnly => break,
                Err(error) => return Err(error),
            };
            let mut deliveries = record.into_iter().flat_map(|record| record.deliveries);
            if let Some(found) = deliveries.find(|found| is_settled_as(found, one)) {
                *written = Ok(found.state);
            }
        }
        Ok(written)
    }
}

/// Whether a delivery is where this attempt wanted it, or cancelled instead.
fn is_settled_as(delivery: &DeliveryRecord, decided: &Decided) -> bool {
    let settlement = &decided.settle.settlement;
    let given_back = u32::from(*settlement == Settlement::Release);
    let attempts = decided.attempt().saturating_sub(given_back);
    let states = [settlement.state(), DeliveryState::Cancelled];
    delivery.handler_key.as_deref() == Some(decided.handler_key())
        && states.contains(&delivery.state)
        && delivery.attempts == attempts
}
