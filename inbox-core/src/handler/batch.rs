use std::fmt;

use super::HandlerError;
use crate::contract::{Contract, decode};
use crate::dispatch::Request;
use crate::message::MessageId;

/// Several commands for one call of a handler: the first parameter of a handler with `batch`.
///
/// The batch succeeds or fails as a whole.
pub struct Batch<T> {
    commands: Vec<T>,
    request: Request,
}

impl<T: Contract> Batch<T> {
    pub(crate) fn decode(request: &Request) -> Result<Self, HandlerError> {
        let commands = request.deliveries().map(|delivery| decode::message(delivery));
        Ok(Self { commands: commands.collect::<Result<_, _>>()?, request: request.clone() })
    }
}

impl<T> Batch<T> {
    /// How many commands the batch holds; never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a batch is never empty")]
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// The commands with the ids of their messages, in order.
    pub fn iter(&self) -> impl Iterator<Item = (MessageId, &T)> {
        self.request.deliveries().map(|delivery| delivery.message.id).zip(&self.commands)
    }
}

/// The commands, in order.
impl<T> IntoIterator for Batch<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.commands.into_iter()
    }
}

// Commands carry what must not reach a log.
impl<T> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} commands)", self.commands.len())
    }
}
