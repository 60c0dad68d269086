use inbox_core::store::{Bell, StoreError, StoreErrorKind};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connection::Place;
use crate::error::translate;
use crate::wake::Rings;

/// What the store's thread is asked to do.
pub(crate) trait Call: Send {
    /// Whether it only reads, and so needs no place in the queue of writers.
    fn reads_only(&self) -> bool;
    /// Does the work, within the transaction that `connection` is in. Answers whether it succeeded.
    /// Called again, if that transaction came to nothing through another's fault.
    fn run(&mut self, place: &Place, connection: &Connection) -> bool;
    /// Tells the caller, after the transaction has ended as `ended` says.
    fn answer(self: Box<Self>, ended: Result<(), StoreError>);
}

/// A piece of work and who waits for it.
pub(crate) struct Work<T, F> {
    pub(crate) reads_only: bool,
    pub(crate) code: F,
    pub(crate) rings: Option<Rings<T>>,
    pub(crate) result: Option<Result<T, StoreError>>,
    pub(crate) reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Call for Work<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> rusqlite::Result<T> + Send,
{
    fn reads_only(&self) -> bool {
        self.reads_only
    }

    fn run(&mut self, place: &Place, connection: &Connection) -> bool {
        if self.reply.is_closed() {
            // Whoever stopped waiting before it began does not want it.
            return true;
        }
        let result = (self.code)(connection).map_err(|error| translate(place, &error));
        let succeeded = result.is_ok();
        self.result = Some(result);
        succeeded
    }

    fn answer(self: Box<Self>, ended: Result<(), StoreError>) {
        let result = match (self.result, ended) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::new(StoreErrorKind::Closed, "the call was not made")),
        };
        if let (Some(rings), Ok(value)) = (&self.rings, &result) {
            rings.committed(value);
        }
        // The caller may be gone: what it was given then is dropped.
        let _ = self.reply.send(result);
    }
}

/// A piece of work that nobody waits for.
pub(crate) struct Unattended<F> {
    pub(crate) code: F,
    pub(crate) bell: Bell,
}

impl<F: FnMut(&Connection) -> rusqlite::Result<()> + Send> Call for Unattended<F> {
    fn reads_only(&self) -> bool {
        false
    }

    fn run(&mut self, place: &Place, connection: &Connection) -> bool {
        let result = (self.code)(connection);
        if let Err(error) = &result {
            tracing::debug!(store = %place, %error, "could not release leases: they will expire");
        }
        result.is_ok()
    }

    fn answer(self: Box<Self>, ended: Result<(), StoreError>) {
        if ended.is_ok() {
            self.bell.ring();
        }
    }
}
