use std::time::Duration;

use crate::contract::EncodeError;
use crate::error::BoxError;
use crate::message::MessageId;
use crate::store::StoreError;

/// A command was not accepted. Nothing of it was stored, unless the store gave no answer in time:
/// then [`StoreErrorKind::TimedOut`](crate::store::StoreErrorKind::TimedOut) says that nobody knows.
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
        contract: String,
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
        contract: String,
        /// Its length.
        length: usize,
        /// What is possible.
        limit: usize,
    },
    /// The payload or the headers are too large.
    #[error(
        "the {what} of a message of contract `{contract}`: too large, {size} bytes of at most {limit}: \
         store it elsewhere and send a reference, or raise `Limits`"
    )]
    TooLarge {
        /// Which of them.
        what: &'static str,
        /// The contract's name.
        contract: String,
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
        contract: String,
    },
    /// The payload is JSON that cannot be stored and read again.
    #[error("the payload of a message of contract `{contract}` {flaw}")]
    Flawed {
        /// The contract's name.
        contract: String,
        /// What is wrong with it, and what to write instead.
        flaw: &'static str,
    },
    /// The delay is longer than any that makes sense.
    #[error(
        "a message of contract `{contract}` is to wait {delay:?}, longer than {limit:?}: check \
         the unit, or raise `Limits`"
    )]
    DelayTooLong {
        /// The contract's name.
        contract: String,
        /// The delay.
        delay: Duration,
        /// What is possible.
        limit: Duration,
    },
    /// The idempotency key was accepted before, with another payload, and the options refuse that.
    /// A payload of a newer version than this program's is another one.
    #[error(
        "a message of contract `{contract}` with this idempotency key was accepted before as \
         {first}, with another payload or one that cannot be read here: give what is another command another key, or keep the \
         first with `OnConflict::KeepFirst`"
    )]
    Conflict {
        /// The contract's name.
        contract: String,
        /// The message that was accepted.
        first: MessageId,
    },
    /// One command of many that are stored together or not at all was refused, and so none is
    /// stored.
    #[error("command {at} of the bulk, counted from 0, was refused, and none was stored")]
    InBulk {
        /// Which one, counted from 0.
        at: u64,
        /// Why.
        #[source]
        error: Box<ScheduleError>,
    },
    /// Whether a payload is the first one's is not compared in bulk.
    #[error(
        "a message of contract `{contract}` asks to be refused if its key was accepted with another \
         payload, which is not compared in bulk: use `schedule_all`, or `OnConflict::KeepFirst`"
    )]
    NotInBulk {
        /// The contract's name.
        contract: String,
    },
    /// The codec could not encode the payload.
    #[error("the codec cannot encode a message of contract `{contract}`")]
    Codec {
        /// The contract's name.
        contract: String,
        /// What the codec said.
        #[source]
        error: BoxError,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
