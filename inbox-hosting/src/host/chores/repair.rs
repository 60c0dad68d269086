use std::time::Duration;

use inbox_core::store::{Maintain as _, Store, StoreError};

use super::ChoreName;
use super::chore::{Chore, Round};
use super::pages::PAGE;
use crate::Inbox;
use crate::host::shared::Shared;

impl ChoreName {
    /// Repairs lanes and limits that a crash left behind.
    pub const REPAIR: Self = Self::new("repair");
}

/// Repairs lanes and limits that a crash left behind.
pub(super) struct Repair;

impl<S: Store> Chore<S> for Repair {
    const NAME: ChoreName = ChoreName::REPAIR;
    // Seldom: every verb of the store hands lanes and limits on by itself.
    const INTERVAL: Duration = Duration::from_secs(10);

    fn begin(_: &Shared<S>) -> Self {
        Self
    }

    async fn round(&mut self, shared: &Shared<S>) -> Result<Round, StoreError> {
        repair(&shared.inbox).await?;
        Ok(Round::Done)
    }
}

/// Repairs lanes and limits that nobody holds and others wait for.
pub(super) async fn repair<S: Store>(inbox: &Inbox<S>) -> Result<(), StoreError> {
    let repaired = inbox.port().mend(PAGE, inbox.scheduler().clock().now()).await?;
    if repaired > 0 {
        tracing::warn!(repaired, "lanes or limits repaired");
    }
    Ok(())
}
