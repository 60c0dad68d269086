use std::sync::Arc;

use super::StoreFuture;
use crate::message::{Envelope, Message};
use crate::{Now, Timestamp};

/// Takes responsibility for messages. This is all that code which only schedules depends on.
pub trait Writer: Send + Sync + 'static {
    /// *nothing → ready or waiting*. Stores each message with one delivery for every route of its
    /// contract, and answers in the order of `envelopes`.
    ///
    /// A delivery is *ready*, or *waiting* until its start. A message whose contract has no route
    /// *waits* for one.
    ///
    /// A message that was accepted before is not stored again: one with the same id, or with the
    /// same tenant, contract and idempotency key. This holds between envelopes of one call too,
    /// where the first stands. All are stored or, on an error, none.
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>>;

    /// Tells workers, here and elsewhere, that something may be ready which the store did not see
    /// commit: what was accepted within a transaction of the caller's. Never waits, and a store whose
    /// workers ask anyway does nothing.
    fn wake(&self) {}
}

/// What became of one envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// It was stored.
    New {
        /// When, by the store's clock.
        accepted_at: Timestamp,
    },
    /// It was accepted before, as this message; nothing was stored.
    Before(Box<StoredMessage>),
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// The message, its payload as the codec wrote it; the same JSON, perhaps in other words.
    pub message: Message,
    /// When it was accepted, by the store's clock.
    pub accepted_at: Timestamp,
}
