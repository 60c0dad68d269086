use std::time::Duration;

use super::{
    DeliveryRecord, DeliveryState, HostRecord, KnownRoute, Lane, LaneFilter, LaneRecord,
    MessageRecord, RouteRecord, StoreFuture,
};
use crate::Now;
use crate::message::{MessageId, Start};

/// Shows what is stored, and acts on single deliveries. For people and their tools: nothing on the
/// way of a message calls it.
pub trait Inspect: Send + Sync + 'static {
    /// One message with all that is known of its deliveries.
    fn show(&self, id: MessageId) -> StoreFuture<'_, Option<MessageRecord>>;

    /// Deliveries that match `filter`, ordered by message id and handler key, a page at a time.
    fn list(&self, filter: DeliveryFilter) -> StoreFuture<'_, Page>;

    /// How many deliveries of each handler are in each state, sorted. States without any are left
    /// out.
    fn counts(&self) -> StoreFuture<'_, Vec<DeliveryCount>>;

    /// *dead → ready*. Gives a dead delivery all its attempts again. Answers whether there was one. If it
    /// blocks its lane, it keeps its position there and its turn is next; otherwise it goes to the end of the lane.
    fn retry(&self, id: MessageId, handler_key: &str, now: Now) -> StoreFuture<'_, bool>;

    /// *ready or waiting → done*, as cancelled; for a delivery that a worker holds, asks the worker
    /// to stop. It learns of that when it renews its lease, and from then on the delivery is not
    /// tried again, whatever becomes of the worker; only if its handler succeeds all the same is it
    /// completed. What is dead or done stays as it is.
    ///
    /// Concerns the delivery of one handler, or all deliveries of the message, one that waits for a
    /// route included.
    fn cancel(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        now: Now,
    ) -> StoreFuture<'_, Cancelled>;

    /// *ready or waiting → ready or waiting*. Gives deliveries another start; what they have been
    /// through stays counted. Answers how many were moved: those that a worker holds, and those
    /// that are dead or done, stay as they are. One that waits for a route goes on waiting for it,
    /// and then until its new start. One that waits for a retry keeps its position and its lane until then. Any
    /// other that is put off gives up its position in its lane, and is given another one when it is due; one
    /// that is ready or waits behind others keeps it if it is to start now.
    ///
    /// Concerns the delivery of one handler, or all deliveries of the message.
    fn reschedule(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        start: Start,
        now: Now,
    ) -> StoreFuture<'_, u64>;

    /// Every route, with how much is still open under its key and which hosts serve it, sorted by
    /// contract and key. A host counts that was seen within `alive_for`.
    fn routes(&self, alive_for: Duration, now: Now) -> StoreFuture<'_, Vec<RouteRecord>>;

    /// Gives a handler key nothing new of the contract: what is accepted from now on goes to the other
    /// keys that take it, or waits for a route. What there is under the key is drained by whoever
    /// serves it. A program that registers the key again does not undo it, only
    /// [`restore`](Self::restore) does.
    ///
    /// Answers every route of the contract, sorted; where there is none with this key, it is refused
    /// with [`NoSuchRoute`](super::StoreErrorKind::NoSuchRoute).
    fn retire(
        &self,
        contract: &str,
        handler_key: &str,
        now: Now,
    ) -> StoreFuture<'_, Vec<KnownRoute>>;

    /// Gives a handler key what is new of the contract again: undoes [`retire`](Self::retire), and
    /// after a rollback the renaming. If another key takes what is new in its place, that one is
    /// retired, so that a program which registers it again does not undo it. To restore that one
    /// renames again. Messages that waited for a route are routed.
    ///
    /// Answers and refuses as `retire` does; a key that takes another contract by now is refused with
    /// [`KeyTaken`](super::StoreErrorKind::KeyTaken).
    fn restore(
        &self,
        contract: &str,
        handler_key: &str,
        now: Now,
    ) -> StoreFuture<'_, Vec<KnownRoute>>;

    /// Every host that made itself known and has not left, sorted by name. One that vanished is among
    /// them for a while: [`seen_at`](HostRecord::seen_at) tells.
    fn hosts(&self) -> StoreFuture<'_, Vec<HostRecord>>;

    /// Lanes that are in use, the one that has had its head for longest first.
    fn lanes(&self, filter: LaneFilter) -> StoreFuture<'_, Vec<LaneRecord>>;

    /// Lets the next one of a lane have its turn whose head is dead. The dead one stays where it is, and if
    /// it is retried it goes to the end of the lane. Answers whether the lane was blocked.
    fn unblock(&self, lane: &Lane, now: Now) -> StoreFuture<'_, bool>;
}

/// What a cancellation did, in deliveries. Nothing at all, if all were dead or done, or the store
/// does not know the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cancelled {
    /// Done at once: no handler will see them.
    pub at_once: u64,
    /// Held by a worker, which was asked to stop.
    pub asked: u64,
}

/// Which deliveries to list; what is not said does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryFilter {
    /// Those in this state.
    pub state: Option<DeliveryState>,
    /// Those of this handler.
    pub handler_key: Option<String>,
    /// Those of this contract.
    pub contract: Option<String>,
    /// Those after the last one of another page.
    pub after: Option<Cursor>,
    /// At most this many; 100 if nothing is said, and never more than 1000.
    pub limit: Option<u32>,
}

impl DeliveryFilter {
    /// Deliveries in `state`.
    #[must_use]
    pub fn in_state(state: DeliveryState) -> Self {
        Self { state: Some(state), ..Self::default() }
    }

    /// How many a page may hold.
    #[must_use]
    pub fn page_size(&self) -> u32 {
        self.limit.unwrap_or(100).clamp(1, 1_000)
    }
}

/// The last delivery of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Its message.
    pub message_id: MessageId,
    /// Its handler.
    pub handler_key: Option<String>,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The deliveries.
    pub deliveries: Vec<DeliveryRecord>,
    /// Where the next page starts, if there may be more.
    pub next: Option<Cursor>,
}

impl Page {
    /// The page of up to `size` deliveries, cut from what was found: one more than fits says that
    /// there is another page.
    #[must_use]
    pub fn of(mut found: Vec<DeliveryRecord>, size: u32) -> Self {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let has_more = found.len() > size;
        found.truncate(size);
        let last = found.last().filter(|_| has_more);
        let next = last.map(|last| Cursor {
            message_id: last.message_id,
            handler_key: last.handler_key.clone(),
        });
        Self { deliveries: found, next }
    }
}

/// How many deliveries of one handler are in one state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveryCount {
    /// The handler's key; none while no handler is known.
    pub handler_key: Option<String>,
    /// The state.
    pub state: DeliveryState,
    /// How many.
    pub count: u64,
}
