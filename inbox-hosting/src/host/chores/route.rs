use std::time::Duration;

use inbox_core::store::{Maintain as _, Store, StoreError};

use super::ChoreName;
use super::chore::{Chore, Round};
use super::pages::{PAGE, pages};
use crate::Inbox;
use crate::host::shared::Shared;

impl ChoreName {
    /// Routes messages that were accepted while their first handler registered.
    pub const ROUTE: Self = Self::new("route");
}

/// Routes messages that were accepted while their first handler registered.
pub(super) struct Route;

impl<S: Store> Chore<S> for Route {
    const NAME: ChoreName = ChoreName::ROUTE;
    const INTERVAL: Duration = Duration::from_secs(1);

    fn begin(_: &Shared<S>) -> Self {
        Self
    }

    async fn round(&mut self, shared: &Shared<S>) -> Result<Round, StoreError> {
        route_unrouted(&shared.inbox).await?;
        Ok(Round::Done)
    }
}

/// Routes messages whose contract has a route by now.
pub(super) async fn route_unrouted<S: Store>(inbox: &Inbox<S>) -> Result<(), StoreError> {
    pages(|| inbox.port().route(PAGE, inbox.scheduler().clock().now())).await
}
