use super::{Headers, MessageId, Payload};
use crate::Timestamp;
use crate::contract::{Contract, EncodeError};

/// A message as it was accepted, around its payload.
///
/// Written once and never changed; what happens to it afterwards belongs to its deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Names the message everywhere.
    pub id: MessageId,
    /// The contract's stable name.
    pub contract: String,
    /// The contract's version at the time of acceptance.
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
    /// When the store took responsibility for it.
    pub accepted_at: Timestamp,
}

impl Envelope {
    /// A new message of `command`, with the keys its contract gives it.
    ///
    /// # Errors
    /// When `command` has no JSON form.
    pub fn new<T: Contract>(command: &T, accepted_at: Timestamp) -> Result<Self, EncodeError> {
        let payload = command.to_payload();
        Ok(Self {
            id: MessageId::new(),
            contract: T::NAME.to_owned(),
            version: T::VERSION,
            payload: payload.map_err(|source| EncodeError { contract: T::NAME, source })?,
            headers: Headers::new(),
            idempotency_key: command.idempotency_key(),
            ordering_key: command.ordering_key(),
            concurrency_key: command.concurrency_key(),
            correlation_id: None,
            causation_id: None,
            tenant: String::new(),
            deliver_by: None,
            accepted_at,
        })
    }
}
