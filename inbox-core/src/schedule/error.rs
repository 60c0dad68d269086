use std::time::Duration;

use crate::contract::EncodeError;

/// A command was not accepted; nothing of it was stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The command has no JSON form.
    #[error(transparent)]
    Unencodable(EncodeError),
    /// A key, an id or a name is empty: leave it out instead.
    #[error("the {what} of a message of contract `{contract}` is empty: leave it out instead")]
    Empty {
        /// Which one.
        what: &'static str,
        /// The contract's name.
        contract: &'static str,
    },
    /// A key, an id or a name is too long to be stored.
    #[error(
        "the {what} of a message of contract `{contract}` has {length} characters, more than \
         {limit}: shorten it, a hash of it for instance"
    )]
    TooLong {
        /// Which one.
        what: &'static str,
        /// The contract's name.
        contract: &'static str,
        /// Its length.
        length: usize,
        /// What is possible.
        limit: usize,
    },
    /// The payload or the headers are too large.
    #[error(
        "the {what} of a message of contract `{contract}` take {size} bytes, more than {limit}: \
         store them elsewhere and send a reference, or raise `Limits`"
    )]
    TooLarge {
        /// Which of them.
        what: &'static str,
        /// The contract's name.
        contract: &'static str,
        /// Its size.
        size: usize,
        /// What is possible.
        limit: usize,
    },
    /// A string holds U+0000, which databases cannot keep.
    #[error(
        "the {what} of a message of contract `{contract}` contains the character U+0000, which \
         cannot be stored: remove it"
    )]
    Nul {
        /// Where.
        what: &'static str,
        /// The contract's name.
        contract: &'static str,
    },
    /// The delay is longer than any that makes sense.
    #[error(
        "a message of contract `{contract}` is to wait {delay:?}, longer than {limit:?}: check \
         the unit, or raise `Limits`"
    )]
    DelayTooLong {
        /// The contract's name.
        contract: &'static str,
        /// The delay.
        delay: Duration,
        /// What is possible.
        limit: Duration,
    },
}
