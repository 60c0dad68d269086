use std::fmt;

use super::{Headers, Message, MessageId, Payload};
use crate::Timestamp;
use crate::schedule::{OnConflict, Priority, Start};

/// A message that is ready to be accepted: its content, and how it is to be delivered.
///
/// Made by [`prepare`](crate::schedule::prepare), so it keeps within the limits.
#[derive(Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Names the message everywhere.
    pub id: MessageId,
    /// The contract's stable name.
    pub contract: String,
    /// The contract's version.
    pub version: u32,
    /// The content.
    pub payload: Payload,
    /// What travels beside the payload.
    pub headers: Headers,
    /// Within a tenant and a contract, two messages with one idempotency key are one message.
    pub idempotency_key: Option<String>,
    /// Deliveries of one handler with one ordering key run one at a time, in order.
    pub ordering_key: Option<String>,
    /// What a handler's limit per key counts.
    pub concurrency_key: Option<String>,
    /// The conversation this message belongs to.
    pub correlation_id: Option<String>,
    /// The message that caused this one.
    pub causation_id: Option<String>,
    /// Whose message this is; empty where an application has no tenants.
    pub tenant: String,
    /// After this moment the message is worth nothing: it expires undelivered.
    pub deliver_by: Option<Timestamp>,
    /// When it may first be handled.
    pub start: Start,
    /// Which of a handler's waiting deliveries goes first.
    pub priority: Priority,
    /// What happens when the idempotency key was accepted before, with another payload.
    pub on_conflict: OnConflict,
}

impl Envelope {
    /// The message that a store keeps of this envelope.
    #[must_use]
    pub fn accepted(self, accepted_at: Timestamp) -> Message {
        Message {
            id: self.id,
            contract: self.contract,
            version: self.version,
            payload: self.payload,
            headers: self.headers,
            ordering_key: self.ordering_key,
            concurrency_key: self.concurrency_key,
            correlation_id: self.correlation_id,
            causation_id: self.causation_id,
            tenant: self.tenant,
            deliver_by: self.deliver_by,
            accepted_at,
        }
    }
}

// Keys and ids are made of the payload's content: none of them is shown.
impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("id", &self.id)
            .field("contract", &self.contract)
            .field("version", &self.version)
            .field("payload", &self.payload)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
