use crate::Timestamp;
use crate::message::{Message, MessageId};

/// Says that a store has taken responsibility for a command. It is no result of the command.
///
/// For a command that had been accepted before, everything here is the first one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    message: Facts,
    accepted_at: Timestamp,
    acceptance: Acceptance,
}

#[derive(Clone, PartialEq, Eq)]
struct Facts {
    id: MessageId,
    contract: String,
    version: u32,
    correlation_id: Option<String>,
    causation_id: Option<String>,
    tenant: String,
}

/// Whether a command was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Acceptance {
    /// It was stored.
    Accepted,
    /// One with the same idempotency key had been accepted before, and stands.
    AlreadyAccepted {
        /// Whether the first one says the same as this one.
        payload_matches: bool,
    },
}

impl Receipt {
    pub(super) fn new(message: &Message, accepted_at: Timestamp, acceptance: Acceptance) -> Self {
        let facts = Facts {
            id: message.id,
            contract: message.contract.clone(),
            version: message.version,
            correlation_id: message.correlation_id.clone(),
            causation_id: message.causation_id.clone(),
            tenant: message.tenant.clone(),
        };
        Self { message: facts, accepted_at, acceptance }
    }

    /// The message's id, to ask for its status with.
    #[must_use]
    pub fn message_id(&self) -> MessageId {
        self.message.id
    }

    /// The contract's name.
    #[must_use]
    pub fn contract(&self) -> &str {
        &self.message.contract
    }

    /// The contract's version.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.message.version
    }

    /// When it was accepted, by the store's clock.
    #[must_use]
    pub fn accepted_at(&self) -> Timestamp {
        self.accepted_at
    }

    /// Whether it was new.
    #[must_use]
    pub fn acceptance(&self) -> Acceptance {
        self.acceptance
    }

    /// The conversation it belongs to.
    #[must_use]
    pub fn correlation_id(&self) -> Option<&str> {
        self.message.correlation_id.as_deref()
    }

    /// The message that caused it.
    #[must_use]
    pub fn causation_id(&self) -> Option<&str> {
        self.message.causation_id.as_deref()
    }

    /// Whose message it is; empty where an application has no tenants.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.message.tenant
    }
}

// Ids are made of a payload's content and stay out of logs.
impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} v{})", self.id, self.contract, self.version)
    }
}
