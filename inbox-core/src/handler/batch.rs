use std::fmt;

use super::decode;
use crate::contract::Contract;
use crate::message::MessageId;
use crate::outcome::{HandlerError, Outcome, Outcomes};
use crate::request::Request;

/// Several commands for one call of a handler: the first parameter of a handler with `batch`.
///
/// The handler answers for all of them at once, or returns a `Vec` with an answer for each, in order.
/// A command whose payload cannot be decoded is not among them: it is dead-lettered alone.
pub struct Batch<T> {
    commands: Vec<(MessageId, T)>,
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
        self.commands.iter().map(|(id, command)| (*id, command))
    }
}

/// The commands, in order.
impl<T> IntoIterator for Batch<T> {
    type Item = T;
    type IntoIter = Commands<T>;

    fn into_iter(self) -> Commands<T> {
        Commands(self.commands.into_iter())
    }
}

/// The commands of a [`Batch`], in order.
pub struct Commands<T>(std::vec::IntoIter<(MessageId, T)>);

impl<T> Iterator for Commands<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().map(|(_, command)| command)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> ExactSizeIterator for Commands<T> {}

// Commands carry what must not reach a log.
impl<T> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} commands)", self.commands.len())
    }
}

impl<T> fmt::Debug for Commands<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Commands({} left)", self.0.len())
    }
}

/// The commands of a request, and those that cannot be decoded.
#[derive(Debug)]
pub struct DecodedBatch<T> {
    /// What the function is given.
    pub batch: Batch<T>,
    /// What it is not given.
    pub undecodable: Undecodable,
}

impl<T: Contract> DecodedBatch<T> {
    pub(crate) fn of(request: &Request) -> Result<Self, HandlerError> {
        let mut commands = Vec::with_capacity(request.len());
        let mut undecodable = Vec::new();
        for (at, delivery) in request.deliveries().enumerate() {
            match decode::message(delivery) {
                Ok(command) => commands.push((delivery.message.id, command)),
                Err(error) => undecodable.push((at, error)),
            }
        }
        match undecodable.pop() {
            // Nothing is left for the function.
            Some((_, error)) if commands.is_empty() => Err(Undecodable(undecodable).beside(error)),
            last => {
                undecodable.extend(last);
                Ok(Self { batch: Batch { commands }, undecodable: Undecodable(undecodable) })
            }
        }
    }
}

/// The deliveries of a batch that cannot be decoded, by their position in the request.
#[derive(Debug)]
pub struct Undecodable(Vec<(usize, HandlerError)>);

impl Undecodable {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What the whole request came to, of which the rest came to `outcomes`.
    pub(super) fn among(self, outcomes: Outcomes, deliveries: usize) -> Outcomes {
        if self.0.is_empty() {
            return outcomes;
        }
        let failed = self.0.into_iter().map(|(at, error)| (at, Outcome::Failed(error)));
        outcomes.with(failed.collect(), deliveries)
    }

    /// The same where the rest failed.
    pub(super) fn beside(self, error: HandlerError) -> HandlerError {
        match self.0.is_empty() {
            true => error,
            false => HandlerError::InBatch { rest: Box::new(error), undecodable: self.0 },
        }
    }
}
