use std::fmt;
use std::time::Duration;

use crate::Timestamp;
use crate::message::{OnConflict, Priority, Start};

/// How one command is to be accepted; what is not said is the contract's or the store's choice.
///
/// ```
/// use std::time::Duration;
/// use inbox::ScheduleOptions;
/// use inbox::schedule::Priority;
///
/// let options = ScheduleOptions::new()
///     .idempotency_key("order-42")
///     .delay(Duration::from_secs(60))
///     .priority(Priority::High)
///     .header("trace", "abc");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use = "options do nothing until a command is scheduled with them"]
pub struct ScheduleOptions {
    pub(super) idempotency_key: Option<String>,
    pub(super) ordering_key: Option<String>,
    pub(super) start: Start,
    pub(super) deliver_by: Option<Timestamp>,
    pub(super) priority: Priority,
    pub(super) correlation_id: Option<String>,
    pub(super) causation_id: Option<String>,
    pub(super) tenant: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) on_conflict: OnConflict,
}

impl ScheduleOptions {
    /// Nothing special.
    pub fn new() -> Self {
        Self::default()
    }

    /// Two messages of one tenant and contract with the same key are one message. Wins over the
    /// contract's own key.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Deliveries of a handler with the same key run one at a time, in order. Wins over the
    /// contract's own key.
    pub fn ordering_key(mut self, key: impl Into<String>) -> Self {
        self.ordering_key = Some(key.into());
        self
    }

    /// Handles it no earlier than so long after acceptance.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.start = Start::After(delay);
        self
    }

    /// Handles it no earlier than at this moment.
    pub fn at(mut self, moment: impl Into<Timestamp>) -> Self {
        self.start = Start::At(moment.into());
        self
    }

    /// After this moment it expires, undelivered.
    pub fn deliver_by(mut self, moment: impl Into<Timestamp>) -> Self {
        self.deliver_by = Some(moment.into());
        self
    }

    /// Which of a handler's waiting deliveries goes first.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The conversation it belongs to.
    pub fn correlation_id(mut self, id: impl Into<String>) -> Self {
        self.correlation_id = Some(id.into());
        self
    }

    /// What caused it.
    pub fn causation_id(mut self, id: impl Into<String>) -> Self {
        self.causation_id = Some(id.into());
        self
    }

    /// Whose message it is.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Adds what travels beside the payload; a second value for a name replaces the first.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// What happens when the key was accepted before, with another payload.
    pub fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.on_conflict = on_conflict;
        self
    }
}

// Keys, ids and headers are made of a payload's content: none of them is shown.
impl fmt::Debug for ScheduleOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleOptions")
            .field("start", &self.start)
            .field("deliver_by", &self.deliver_by)
            .field("priority", &self.priority)
            .field("on_conflict", &self.on_conflict)
            .finish_non_exhaustive()
    }
}
