use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use inbox_core::settle::DeadReason;
use inbox_core::store::{
    HostRecord, KnownRoute, OrphanTerms, RouteRecord, Served, Store, StoreError,
};
use tokio::time::Instant;

use crate::Inbox;

/// How often a host says that it is there: several times while it counts as alive.
pub(crate) const SIGHT: Duration = Duration::from_secs(10);

/// Orphans that are given up in one go: what is ready must not wait for all of them.
const PAGE: u32 = 1_000;

/// When this program last said that it is there.
#[derive(Debug, Default)]
pub(crate) struct Announced(Mutex<Option<Instant>>);

impl Announced {
    fn is_recent(&self) -> bool {
        self.lock().is_some_and(|at| at.elapsed() < SIGHT)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        // Nothing is half-done when a holder panics: every change is an assignment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What operators do with the routes of a fleet. The guide `rename` tells the whole story.
impl<S: Store> Inbox<S> {
    /// Every route of the store, whichever program registered it: which key takes its place, how many
    /// deliveries are still open under it, and which live hosts serve it. A key that is given nothing
    /// new and has nothing open is drained.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn routes(&self) -> Result<Vec<RouteRecord>, StoreError> {
        let now = self.scheduler().clock().now();
        self.store().routes(HostRecord::ALIVE_FOR, now).await
    }

    /// The hosts that made themselves known and have not left.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn hosts(&self) -> Result<Vec<HostRecord>, StoreError> {
        self.store().hosts().await
    }

    /// Gives a handler key nothing new of a contract, whatever programs register it; what it has is
    /// drained by those that serve it. [`restore`](Self::restore) undoes it. Answers every route of the
    /// contract.
    ///
    /// # Errors
    /// When there is no such route, or the store fails.
    pub async fn retire(
        &self,
        contract: &str,
        handler_key: &str,
    ) -> Result<Vec<KnownRoute>, StoreError> {
        self.store().retire(contract, handler_key, self.scheduler().clock().now()).await
    }

    /// Gives a handler key what is new of a contract again: after it was retired, or, in a rollback,
    /// after a program renamed it. The key that took its place is retired then; to restore that one
    /// renames again. Answers every route of the contract.
    ///
    /// # Errors
    /// When there is no such route, the key takes another contract by now, or the store fails.
    pub async fn restore(
        &self,
        contract: &str,
        handler_key: &str,
    ) -> Result<Vec<KnownRoute>, StoreError> {
        self.store().restore(contract, handler_key, self.scheduler().clock().now()).await
    }

    /// Says that this program is there and what it serves, unless it did so a moment ago. One that
    /// serves nothing says nothing: it is no sign that others should be there.
    pub(crate) async fn announce(&self) -> Result<(), StoreError> {
        if self.parts().announced.is_recent() {
            return Ok(());
        }
        let only = self.parts().host.only.as_deref();
        let wanted = self.parts().handlers.served(only, std::num::NonZeroU32::MIN);
        let serves = wanted
            .flat_map(|(_, wanted)| wanted)
            .map(|wanted| Served { handler_key: wanted.handler_key, versions: wanted.versions });
        let serves: Vec<_> = serves.collect();
        if !serves.is_empty() {
            let now = self.scheduler().clock().now();
            self.store().announce(self.host(), serves, now).await?;
        }
        *self.parts().announced.lock() = Some(Instant::now());
        Ok(())
    }

    /// Says that this program is there no more.
    pub(crate) async fn leave(&self) -> Result<(), StoreError> {
        *self.parts().announced.lock() = None;
        self.store().leave(self.host()).await
    }

    /// Gives up what no live host serves, and answers how much it was.
    pub(crate) async fn give_up_orphans(&self) -> Result<u64, StoreError> {
        let grace = self.parts().host.orphan_grace;
        let terms = OrphanTerms { grace, alive_for: HostRecord::ALIVE_FOR };
        let now = self.scheduler().clock().now();
        let dead = self.store().give_up_orphans(terms, PAGE, now).await?;
        if dead > 0 {
            tracing::error!(
                dead,
                reason = %DeadReason::Orphaned,
                "dead, because no live host serves their handler keys: each says which"
            );
        }
        Ok(dead)
    }
}
