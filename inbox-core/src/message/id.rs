use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Names one message, in every table and log.
///
/// A UUIDv7: ids made later sort later, so rows are appended to an index instead of scattered
/// over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Uuid);

impl MessageId {
    /// A new id, later than those made before it.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "every call differs, so there is no default")]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// The id with these 128 bits, such as one read from a store.
    #[must_use]
    pub const fn from_u128(bits: u128) -> Self {
        Self(Uuid::from_u128(bits))
    }

    /// The id as 128 bits.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0.as_u128()
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is not a message id.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a message id: it is a UUID such as 0190a2b4-7c1e-7d3a-8f00-3b2a1c0d9e8f")]
pub struct ParseMessageIdError {
    text: String,
    #[source]
    source: uuid::Error,
}

impl FromStr for MessageId {
    type Err = ParseMessageIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Uuid::parse_str(text) {
            Ok(uuid) => Ok(Self(uuid)),
            Err(source) => Err(ParseMessageIdError { text: text.to_owned(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_made_later_sorts_later() {
        let ids: Vec<_> = (0..1_000).map(|_| MessageId::new()).collect();
        assert!(ids.is_sorted());
    }

    #[test]
    fn an_id_reads_back_as_it_was_shown() {
        let id = MessageId::new();
        assert_eq!(id.to_string().parse::<MessageId>().unwrap(), id);
        assert_eq!(MessageId::from_u128(id.as_u128()), id);
    }

    #[test]
    fn text_that_is_no_id_is_named_in_the_error() {
        let error = "42".parse::<MessageId>().unwrap_err();
        assert!(error.to_string().starts_with("`42` is not a message id"));
    }
}
