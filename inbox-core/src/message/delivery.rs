use super::{Carry, Message};
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
    /// Which attempt this is, from 1. An attempt whose worker vanished is not counted.
    pub attempt: u32,
    /// How many workers have vanished with it in a row.
    pub crashes: u32,
    /// What earlier attempts left for this one.
    pub carry: Carry,
    /// What it shares with others: whoever settles it hands that on.
    pub shares: Shares,
}

/// What a delivery shares with others of its handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shares {
    /// Whether it has an ordering key, and so holds a lane.
    pub lane: bool,
    /// Whether it may count for a limit of the whole fleet.
    pub limit: bool,
}

impl Shares {
    /// Of a delivery of which nothing is known.
    pub const UNKNOWN: Self = Self { lane: true, limit: true };
}

impl Delivery {
    /// The first attempt to hand `message`, accepted at that moment, to the handler `handler_key`.
    #[must_use]
    pub fn first(message: Message, accepted_at: Timestamp, handler_key: impl Into<String>) -> Self {
        let handler_key = handler_key.into();
        let (carry, shares) = (Carry::default(), Shares::default());
        Self { message, accepted_at, handler_key, attempt: 1, crashes: 0, carry, shares }
    }
}
