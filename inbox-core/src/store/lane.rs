use super::DeliveryState;
use crate::Timestamp;
use crate::message::MessageId;

/// Names a lane: the deliveries of one handler that share a tenant and an ordering key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    /// The handler, by any key that it has or had.
    pub handler_key: String,
    /// The tenant; empty for messages without one.
    pub tenant: String,
    /// The ordering key.
    pub ordering_key: String,
}

/// A lane that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneRecord {
    /// Its name; the handler key is the one that its head is stored under.
    pub lane: Lane,
    /// The message whose turn it is: of a run, the oldest that is held.
    pub head: MessageId,
    /// Where that stands. A lane whose head is dead is blocked.
    pub state: DeliveryState,
    /// Since when it is the head; of a run, it may be since when the run is on.
    pub since: Timestamp,
    /// How many other deliveries of the lane are held, ready or waiting behind it.
    pub behind: u64,
}

/// Which lanes to list; what is not said does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaneFilter {
    /// Those of this handler.
    pub handler_key: Option<String>,
    /// Only those whose head is dead.
    pub blocked: bool,
    /// At most this many; 100 if nothing is said, and never more than 1000.
    pub limit: Option<u32>,
}

impl LaneFilter {
    /// Lanes that wait for someone to decide about their dead heads.
    #[must_use]
    pub fn blocked() -> Self {
        Self { blocked: true, ..Self::default() }
    }

    /// How many may be listed.
    #[must_use]
    pub fn page_size(&self) -> u32 {
        self.limit.unwrap_or(100).clamp(1, 1_000)
    }
}
