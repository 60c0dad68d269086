use super::Message;
use crate::Timestamp;

/// One message for one handler: what is leased, dispatched and settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The message.
    pub message: Message,
    /// When the store took responsibility for it.
    pub accepted_at: Timestamp,
    /// The key the delivery was stored under: the handler's own, or one it carries as legacy.
    pub handler_key: String,
    /// Which attempt this is, from 1. An attempt is one lease.
    pub attempt: u32,
    /// How often the delivery came back after waiting.
    pub delayed_retries: u32,
}

impl Delivery {
    /// The first attempt to hand `message`, accepted at that moment, to the handler `handler_key`.
    #[must_use]
    pub fn first(message: Message, accepted_at: Timestamp, handler_key: impl Into<String>) -> Self {
        let handler_key = handler_key.into();
        Self { message, accepted_at, handler_key, attempt: 1, delayed_retries: 0 }
    }
}
