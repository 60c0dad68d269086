use std::fmt;

use super::{Headers, MessageId, Payload};
use crate::Timestamp;

/// Something that is accepted once: written then and never changed. What happens to it afterwards
/// belongs to its deliveries.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Names the message everywhere.
    pub id: MessageId,
    /// The contract's stable name.
    pub contract: String,
    /// The contract's version when the message was made.
    pub version: u32,
    /// The content, undecoded.
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
}

// Keys and ids are made of the payload's content: none of them is shown.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("contract", &self.contract)
            .field("version", &self.version)
            .field("payload", &self.payload)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
