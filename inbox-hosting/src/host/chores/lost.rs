use inbox_core::store::{LeaseToken, StateStore as _, Store, StoreError};

use crate::host::leases::Leases;
use crate::host::shared::Shared;

/// Releases leases that this host could not renew in time and under which no handler was called. Released,
/// their deliveries are under no suspicion; reclaimed, they would be.
pub(super) async fn release_lost<S: Store>(shared: &Shared<S>) -> Result<(), StoreError> {
    let mut lost = Lost { leases: &shared.leases, tokens: shared.leases.take_lost() };
    if lost.tokens.is_empty() {
        return Ok(());
    }
    let inbox = &shared.inbox;
    inbox.port().release(lost.tokens.clone(), inbox.scheduler().clock().now()).await?;
    lost.tokens.clear();
    Ok(())
}

/// Lost leases that the store has not been told of. Whatever ends the call, an error, a timeout or a panic,
/// the next round tells the store.
struct Lost<'a> {
    leases: &'a Leases,
    tokens: Vec<LeaseToken>,
}

impl Drop for Lost<'_> {
    fn drop(&mut self) {
        if !self.tokens.is_empty() {
            self.leases.still_lost(std::mem::take(&mut self.tokens));
        }
    }
}
