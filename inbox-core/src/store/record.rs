use super::{DeliveryState, StoredMessage};
use crate::Timestamp;
use crate::message::MessageId;

/// One message and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRecord {
    /// The message as it is stored.
    pub stored: StoredMessage,
    /// Its deliveries, sorted by handler key.
    pub deliveries: Vec<DeliveryRecord>,
    /// What went wrong with them, oldest first.
    pub attempts: Vec<AttemptRecord>,
}

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// The message.
    pub message_id: MessageId,
    /// The handler's key; none while no handler is known.
    pub handler_key: Option<String>,
    /// The contract's name.
    pub contract: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// Attempts made, the current one included.
    pub attempts: u32,
    /// When it will be ready, if it waits for a moment.
    pub due_at: Option<Timestamp>,
    /// Until when a worker holds it, if one does.
    pub lease_expires_at: Option<Timestamp>,
    /// When it was settled for good, if it was.
    pub settled_at: Option<Timestamp>,
    /// Why it waits (`delay`, `retry`, `no-route`, `lane` or `limit`), or the word of the reason why it is dead.
    pub reason: Option<String>,
    /// What went wrong last, of one that waits for a retry or is dead.
    pub error: Option<String>,
}

/// An attempt that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// The handler's key.
    pub handler_key: String,
    /// Which attempt, from 1. One whose worker vanished is not counted: its number comes again.
    pub attempt: u32,
    /// The host that made it, if that is known.
    pub host: Option<String>,
    /// When it was leased.
    pub leased_at: Timestamp,
    /// When it was settled.
    pub settled_at: Timestamp,
    /// The type of the error.
    pub error_type: String,
    /// The error and its causes.
    pub error: String,
}
