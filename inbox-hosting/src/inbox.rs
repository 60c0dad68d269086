use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::message::MessageId;
use inbox_core::registry::Registry;
use inbox_core::schedule::{Scheduler, Start};
use inbox_core::store::{
    Cancelled, DeliveryFilter, Inspect as _, Lane, LaneFilter, LaneRecord, LeaseToken,
    MessageRecord, Page, Store, StoreError,
};

use crate::InboxBuilder;
use crate::handlers::Handlers;
use crate::host::{Beats, Control, HostControl, HostOptions};
use crate::port::Port;

/// A store together with the handlers of this program: schedules commands and runs what is due.
///
/// Cheap to clone.
pub struct Inbox<S> {
    parts: Arc<Parts<S>>,
    host: Arc<str>,
}

/// What an inbox is made of.
pub(crate) struct Parts<S> {
    // The scheduler's store, for all that is asked of it from here.
    pub(crate) port: Arc<Port<S>>,
    pub(crate) scheduler: Scheduler<S>,
    // The same scheduler on the port, for handlers.
    pub(crate) erased: Scheduler,
    pub(crate) registry: Registry,
    pub(crate) handlers: Handlers,
    pub(crate) lease_duration: Duration,
    pub(crate) host: HostOptions,
    pub(crate) control: Arc<Control>,
    pub(crate) beats: Beats,
}

impl<S: Store> Inbox<S> {
    /// Starts an inbox on `store`, with every contract and handler linked into this program.
    pub fn builder(store: S) -> InboxBuilder<S> {
        InboxBuilder::new(store)
    }

    pub(crate) fn new(parts: Parts<S>) -> Self {
        // New at every start: a program that comes back is another host.
        let host = format!("{}:{}", std::process::id(), LeaseToken::new());
        Self { parts: Arc::new(parts), host: host.into() }
    }

    /// Stores commands.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler<S> {
        &self.parts.scheduler
    }

    /// Where everything is stored.
    #[must_use]
    pub fn store(&self) -> &Arc<S> {
        self.parts.scheduler.store()
    }

    /// The contracts and handlers of this program.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.parts.registry
    }

    /// How the host is that [`start`](Self::start) or [`run_until`](Self::run_until) began, and how it
    /// is paused, resumed and drained.
    #[must_use]
    pub fn control(&self) -> HostControl {
        HostControl::new(Arc::clone(&self.parts.control))
    }

    /// What became of a message: where each of its deliveries stands, and what went wrong. Nothing,
    /// if the store does not know it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn status(&self, id: MessageId) -> Result<Option<MessageRecord>, StoreError> {
        self.port().show(id).await
    }

    /// Deliveries that match `filter`, a page at a time: `DeliveryFilter::in_state(state)` for the
    /// dead ones, for instance.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, filter: DeliveryFilter) -> Result<Page, StoreError> {
        self.port().list(filter).await
    }

    /// Gives a dead delivery all its attempts again. Answers whether there was one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn retry(&self, id: MessageId, handler_key: &str) -> Result<bool, StoreError> {
        self.port().retry(id, handler_key, self.scheduler().clock().now()).await
    }

    /// Cancels every delivery of a message that has not come to its end. What no worker holds is
    /// done at once. A worker that is at it learns of it when it renews its lease, which it does
    /// three times for the [duration](InboxBuilder::lease_duration) of one: then the handler's
    /// cancellation token fires, and unless the handler succeeds all the same, there is no other
    /// attempt. `store().cancel(..)` concerns one handler.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cancel(&self, id: MessageId) -> Result<Cancelled, StoreError> {
        self.port().cancel(id, None, self.scheduler().clock().now()).await
    }

    /// Gives every delivery of a message that is ready or waiting another start, and answers how
    /// many those were: a retry is brought forward, for instance, or a command put off.
    /// `store().reschedule(..)` concerns one handler.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn reschedule(&self, id: MessageId, start: Start) -> Result<u64, StoreError> {
        self.port().reschedule(id, None, start, self.scheduler().clock().now()).await
    }

    /// Lanes that are in use: of the deliveries that share an ordering key, the one whose turn it is, and how
    /// many wait behind it. `LaneFilter::blocked()` lists those whose head is dead.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn lanes(&self, filter: LaneFilter) -> Result<Vec<LaneRecord>, StoreError> {
        self.port().lanes(filter).await
    }

    /// Lets the next one of a lane have its turn whose head is dead. The dead one stays where it is; if it is
    /// retried, it goes to the end. Answers whether the lane was blocked.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn unblock(&self, lane: &Lane) -> Result<bool, StoreError> {
        self.port().unblock(lane, self.scheduler().clock().now()).await
    }

    pub(crate) fn port(&self) -> &Arc<Port<S>> {
        &self.parts.port
    }

    pub(crate) fn parts(&self) -> &Parts<S> {
        &self.parts
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }
}

impl<S> Clone for Inbox<S> {
    fn clone(&self) -> Self {
        Self { parts: Arc::clone(&self.parts), host: Arc::clone(&self.host) }
    }
}

impl<S> fmt::Debug for Inbox<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("host", &self.host)
            .field("handlers", &self.parts.registry.handlers())
            .finish_non_exhaustive()
    }
}
