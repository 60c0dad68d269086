use inbox_core::settle::Settlement;
use inbox_core::store::{
    DeliveryRecord, DeliveryState, LeaseLost, Store, StoreError, StoreErrorKind,
};

use super::Judged;
use crate::Inbox;

/// Whether an earlier try got no answer, so that what it asked for may have happened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unsure(bool);

impl<S: Store> Inbox<S> {
    /// Writes what was decided, once. A handler has run: not to say so would run it twice, so the
    /// caller tries again after an error that may pass.
    pub(crate) async fn settle(
        &self,
        judged: &[Judged],
        unsure: &mut Unsure,
    ) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
        let settles = judged.iter().map(|one| one.settle.clone()).collect();
        match self.store().settle(settles, self.scheduler().clock().now()).await {
            Ok(written) if written.len() != judged.len() => {
                let message = "the store did not answer for every delivery it was to settle";
                Err(StoreError::new(StoreErrorKind::Other, message))
            }
            Ok(written) if unsure.0 => self.looked_up(judged, written).await,
            Ok(written) => Ok(written),
            Err(error) => {
                unsure.0 |= error.kind() == StoreErrorKind::TimedOut;
                Err(error)
            }
        }
    }

    /// What a try wrote that got no answer looks like a lost lease to the next try.
    async fn looked_up(
        &self,
        judged: &[Judged],
        mut written: Vec<Result<DeliveryState, LeaseLost>>,
    ) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
        for (one, written) in judged.iter().zip(&mut written) {
            if written.is_ok() {
                continue;
            }
            let record = self.store().show(one.settle.message_id).await?;
            let mut deliveries = record.into_iter().flat_map(|record| record.deliveries);
            if let Some(found) = deliveries.find(|found| is_settled_as(found, one)) {
                *written = Ok(found.state);
            }
        }
        Ok(written)
    }
}

/// Whether a delivery is where this attempt wanted it, or cancelled instead.
fn is_settled_as(delivery: &DeliveryRecord, judged: &Judged) -> bool {
    let Judged { work, settle, .. } = judged;
    let given_back = u32::from(settle.settlement == Settlement::Release);
    let attempts = work.attempt().saturating_sub(given_back);
    let states = [settle.settlement.state(), DeliveryState::Cancelled];
    delivery.handler_key.as_deref() == Some(&*work.handler_key)
        && states.contains(&delivery.state)
        && delivery.attempts == attempts
}
