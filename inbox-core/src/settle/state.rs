use std::fmt;
use std::str::FromStr;

/// Where a delivery stands, in the words of every table, log and command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DeliveryState {
    /// A worker may lease it.
    Pending,
    /// A worker holds it.
    Processing,
    /// Its time has not come, or no handler is known for it.
    Waiting,
    /// Given up; it stays until someone decides.
    Dead,
    /// Its handler succeeded.
    Completed,
    /// Its deliver-by passed before a handler ran.
    Expired,
    /// Someone stopped it.
    Cancelled,
    /// Its handler found nothing to do for it.
    Discarded,
}

impl DeliveryState {
    /// Every state.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Processing,
        Self::Waiting,
        Self::Dead,
        Self::Completed,
        Self::Expired,
        Self::Cancelled,
        Self::Discarded,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Waiting => "waiting",
            Self::Dead => "dead",
            Self::Completed => "completed",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Discarded => "discarded",
        }
    }

    /// Whether nothing will happen to it by itself.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Processing | Self::Waiting)
    }
}

impl fmt::Display for DeliveryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is no state of a delivery.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{text}` is no state of a delivery: write one of {}",
    DeliveryState::ALL.map(DeliveryState::as_str).join(", ")
)]
pub struct ParseDeliveryStateError {
    text: String,
}

impl FromStr for DeliveryState {
    type Err = ParseDeliveryStateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| ParseDeliveryStateError { text: text.to_owned() })
    }
}
