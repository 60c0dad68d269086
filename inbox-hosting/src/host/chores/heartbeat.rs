use std::num::NonZeroU32;
use std::time::Duration;

use inbox_core::store::{Maintain as _, Served, Store, StoreError};

use super::ChoreName;
use super::beats::SIGHT;
use super::chore::{Chore, Round};
use crate::Inbox;
use crate::host::shared::Shared;

impl ChoreName {
    /// Says that this host lives and which handlers it runs.
    pub const HEARTBEAT: Self = Self::new("heartbeat");
}

/// Says that this host lives and which handlers it runs.
pub(super) struct Heartbeat;

impl<S: Store> Chore<S> for Heartbeat {
    const NAME: ChoreName = ChoreName::HEARTBEAT;
    const INTERVAL: Duration = SIGHT;

    fn begin(_: &Shared<S>) -> Self {
        Self
    }

    async fn round(&mut self, shared: &Shared<S>) -> Result<Round, StoreError> {
        heartbeat(&shared.inbox).await?;
        Ok(Round::Done)
    }
}

/// Says that this program lives and which handlers it runs. A program that runs none says nothing: it is no
/// sign that the hosts of other handlers should be there.
pub(super) async fn heartbeat<S: Store>(inbox: &Inbox<S>) -> Result<(), StoreError> {
    let only = inbox.parts().host.only.as_deref();
    let wanted = inbox.parts().handlers.served(only, NonZeroU32::MIN);
    let serves = wanted
        .flat_map(|(_, wanted)| wanted)
        .map(|wanted| Served { handler_key: wanted.handler_key, versions: wanted.versions });
    let serves: Vec<_> = serves.collect();
    if !serves.is_empty() {
        let now = inbox.scheduler().clock().now();
        let announced = inbox.port().announce(inbox.host(), serves, now).await;
        announced.inspect_err(|_| inbox.parts().beats.miss())?;
    }
    inbox.parts().beats.beat();
    Ok(())
}
