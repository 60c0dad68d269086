use super::{Contract, redact};
use crate::message::Payload;

/// A stored payload could not be read as its contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The stored version is none that the linked type reads.
    #[error(
        "version {version} of contract `{contract}` is unknown here: this binary reads {}; \
         add the missing step with `upgrades = OlderType`", list(.readable)
    )]
    UnknownVersion {
        /// The contract's name.
        contract: &'static str,
        /// The version found in the row.
        version: u32,
        /// The versions this binary reads, newest first.
        readable: Vec<u32>,
    },
    /// The payload does not fit the type that its version stands for.
    #[error("the payload does not fit version {version} of contract `{contract}`: {reason}")]
    Malformed {
        /// The contract's name.
        contract: &'static str,
        /// The version found in the row.
        version: u32,
        /// What the JSON reader expected and where, without the value it found.
        reason: String,
    },
}

fn list(versions: &[u32]) -> String {
    let words: Vec<_> = versions.iter().map(|version| format!("version {version}")).collect();
    words.join(", ")
}

/// Reads `payload` as `T`, which has nothing older to fall back on.
pub(super) fn exactly<T: Contract>(version: u32, payload: &Payload) -> Result<T, DecodeError> {
    if version != T::VERSION {
        return Err(DecodeError::UnknownVersion {
            contract: T::NAME,
            version,
            readable: T::LINEAGE.versions().collect(),
        });
    }
    T::from_payload(payload).map_err(|error| DecodeError::Malformed {
        contract: T::NAME,
        version,
        reason: redact::reason(&error),
    })
}
