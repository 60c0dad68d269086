use super::{Message, Priority, Start};

/// A message that is ready to be accepted, and how it is to be delivered.
///
/// Made by `prepare`, so it keeps within the limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// What is accepted.
    pub message: Message,
    /// When it may first be handled.
    pub start: Start,
    /// Which of a handler's waiting deliveries goes first.
    pub priority: Priority,
    /// Whether the scheduler's codec has written the payload.
    pub is_encoded: bool,
    /// What happens when the idempotency key was accepted before, with another payload.
    pub on_conflict: OnConflict,
}

/// What happens when the idempotency key was accepted before, with another payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnConflict {
    /// The first message stands, and the caller is told that the payloads differ.
    #[default]
    KeepFirst,
    /// It is an error.
    Refuse,
}
