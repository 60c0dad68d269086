use super::Contract;
use crate::message::Payload;

/// A stored payload could not be read as its contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The message belongs to another contract than the handler that its key leads to.
    #[error(
        "the handler takes contract `{expected}`, but the message is of contract `{found}`: give \
         the handler of `{expected}` another key, and this key to a handler of `{found}`"
    )]
    OtherContract {
        /// The contract of the handler.
        expected: &'static str,
        /// The contract found in the row.
        found: String,
    },
    /// The payload is larger than this host reads.
    #[error(
        "the payload takes {size} bytes, more than the {limit} this host reads: raise its `Limits`"
    )]
    TooLarge {
        /// Its size.
        size: usize,
        /// What is read.
        limit: usize,
    },
    /// The type panicked while it was read. What it said is not repeated: it may quote the payload.
    #[error("the type panicked while version {version} of contract `{contract}` was read into it")]
    Panicked {
        /// The contract's name.
        contract: &'static str,
        /// The version found in the row.
        version: u32,
    },
    /// The stored version is none that the linked type reads.
    #[error(
        "version {version} of contract `{contract}` is unknown here: this binary reads {}; {}",
        list(.readable),
        advice(*.version, .readable)
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

fn advice(version: u32, readable: &[u32]) -> &'static str {
    match readable.iter().all(|known| *known < version) {
        true => "the message comes from a newer program, so deploy that one here",
        false => "add the missing step with `upgrades = OlderType`",
    }
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
        reason: error.to_string(),
    })
}
