use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::store::LeaseToken;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A receipt said that a message was new. Noted after the receipt was there, so the store is
    /// bound by it.
    Accepted {
        /// The message.
        message_id: MessageId,
        /// The contract's name.
        contract: String,
        /// What it is ordered by.
        ordering_key: Option<String>,
        /// When it was accepted.
        at: Timestamp,
    },
    /// A handler is about to run.
    Started {
        /// The message.
        message_id: MessageId,
        /// The key the delivery is stored under.
        handler_key: String,
        /// Which attempt it is, from 1.
        attempt: u32,
        /// The lease it runs under; none when it is run by hand.
        lease: Option<SeenLease>,
        /// When.
        at: Timestamp,
        /// The id of the process it runs in.
        process: u32,
    },
    /// A handler returned, panicked or was dropped.
    Finished {
        /// The message.
        message_id: MessageId,
        /// The key the delivery is stored under.
        handler_key: String,
        /// Which attempt it was, from 1.
        attempt: u32,
        /// The lease it ran under, as renewals have left it.
        lease: Option<SeenLease>,
        /// Whether it succeeded.
        ok: bool,
        /// When.
        at: Timestamp,
    },
}

/// What a run knows of its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenLease {
    /// Its token.
    pub token: LeaseToken,
    /// Until when it holds, as far as was known then.
    pub expires_at: Timestamp,
    /// Until when it may hold, where it was being renewed and the answer was not there yet.
    pub renewing_until: Option<Timestamp>,
}
