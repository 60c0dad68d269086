use crate::Timestamp;
use crate::message::MessageId;

/// What the caller is told: the message is the store's responsibility now.
///
/// There is no business result, because no handler has run yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The message; the first one, if it was accepted before.
    pub message_id: MessageId,
    /// The contract's name.
    pub contract: &'static str,
    /// The contract's version.
    pub version: u32,
    /// When it was first accepted, by the store's clock.
    pub accepted_at: Timestamp,
    /// Whether it was new.
    pub acceptance: Acceptance,
    /// The conversation it belongs to.
    pub correlation_id: Option<String>,
    /// What caused it.
    pub causation_id: Option<String>,
    /// Whose message it is; empty where an application has no tenants.
    pub tenant: String,
}

/// Whether a message was new to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Acceptance {
    /// It was.
    Accepted,
    /// Its idempotency key was accepted before; the first message stands.
    AlreadyAccepted {
        /// Whether the first one had the same payload.
        payload_matches: bool,
    },
}
