use inbox_core::store::{Reclaimed, Store, StoreError};

use super::heartbeat::heartbeat;
use super::promote::promote_due;
use super::reclaim::reclaim_expired;
use super::repair::repair;
use super::route::route_unrouted;
use crate::Inbox;

/// Does the chores once, before `process_pending`. Each of them is tried, whatever becomes of the
/// others; answers what was reclaimed, or the first error.
pub(crate) async fn once<S: Store>(inbox: &Inbox<S>) -> Result<Reclaimed, StoreError> {
    let beat = match inbox.parts().beats.is_fresh() {
        true => Ok(()),
        false => heartbeat(inbox).await,
    };
    let reclaimed = reclaim_expired(inbox).await;
    let routed = route_unrouted(inbox).await;
    let repaired = repair(inbox).await;
    let promoted = promote_due(inbox).await;
    beat?;
    let reclaimed = reclaimed?;
    routed?;
    repaired?;
    promoted?;
    Ok(reclaimed)
}
