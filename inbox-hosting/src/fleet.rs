use inbox_core::store::{
    HostRecord, Inspect as _, KnownRoute, Maintain as _, RouteRecord, Store, StoreError,
};

use crate::Inbox;

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
        self.port().routes(HostRecord::ALIVE_FOR, now).await
    }

    /// The hosts that made themselves known and have not left.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn hosts(&self) -> Result<Vec<HostRecord>, StoreError> {
        self.port().hosts().await
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
        self.port().retire(contract, handler_key, self.scheduler().clock().now()).await
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
        self.port().restore(contract, handler_key, self.scheduler().clock().now()).await
    }

    /// Says that this program is there no more.
    pub(crate) async fn leave(&self) -> Result<(), StoreError> {
        self.parts().beats.miss();
        self.port().leave(self.host()).await
    }
}
