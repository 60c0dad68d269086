use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{flaw, redact};

/// A message's content: JSON, not yet decoded.
///
/// `Debug` shows its size only, because payloads carry what must not reach a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Vec<u8>);

impl Payload {
    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// When `value` has no JSON form, such as a map whose keys are not strings.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        serde_json::to_vec(value).map(Self).map_err(|error| PayloadError::new(&error, &[]))
    }

    /// The payload with exactly these bytes, such as those read from a store.
    #[must_use]
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes as stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What keeps this JSON from being stored and read again, in words that follow "the payload":
    /// U+0000 and halves of characters, numbers beyond what PostgreSQL's `jsonb` keeps, and nesting
    /// deeper than JSON is read.
    #[must_use]
    pub fn flaw(&self) -> Option<&'static str> {
        flaw::of(&self.0)
    }

    /// Reads the payload as a `T`.
    ///
    /// # Errors
    /// When the bytes are not JSON or the JSON does not fit `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        serde_json::from_slice(&self.0).map_err(|error| PayloadError::new(&error, &self.0))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

/// A payload could not be written or read: what was expected and where, without the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PayloadError {
    reason: String,
}

impl PayloadError {
    fn new(error: &serde_json::Error, payload: &[u8]) -> Self {
        Self { reason: redact::reason(error, payload) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_a_flaw_and_the_text_that_spells_one_is_not() {
        for (text, has_nul) in [("a\0b", true), ("\\\0", true), ("\\u0000", false), ("\n", false)] {
            assert_eq!(Payload::encode(text).unwrap().flaw().is_some(), has_nul, "{text:?}");
        }
    }

    #[test]
    fn debug_never_shows_the_content() {
        let payload = Payload::encode("4111 1111 1111 1111").unwrap();
        assert_eq!(format!("{payload:?}"), "Payload(21 bytes)");
    }
}
