use std::error::Error;

use inbox_core::error::BoxError;
use tokio_postgres::error::{Severity, SqlState};

use crate::error::{breaks_connection, is_io};
use crate::refusal::Refusal;

/// Causes of causes that are looked at: a chain may be a ring.
const MOST_CAUSES: usize = 32;

/// A handler returned, but its transaction could not be committed. It was rolled back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// The database refused to commit, such as for a constraint that is checked at the end.
    #[error("the database refused to commit what the handler wrote")]
    Refused(#[source] BoxError),
    /// A statement had failed, after which PostgreSQL takes no others.
    #[error(
        "a statement of the handler failed and the handler returned success, so nothing could be \
         committed: return the error, or begin what may fail with `SAVEPOINT` and undo it with \
         `ROLLBACK TO SAVEPOINT`"
    )]
    Aborted,
    /// The handler ended the transaction itself. What it had committed by then stays, and comes again
    /// with the next attempt.
    #[error(
        "the handler ended its transaction by itself: leave `BEGIN`, `COMMIT` and `ROLLBACK` out, the \
         inbox commits when the handler returns"
    )]
    Ended,
}

/// Whether the same transaction may pass if it is begun again: it met another one, or lost its
/// connection.
pub(super) fn may_pass(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    for _ in 0..MOST_CAUSES {
        let Some(error) = next else { return false };
        if let Some(error) = error.downcast_ref::<tokio_postgres::Error>() {
            return error.code().map_or_else(|| is_io(error), collides) || is_cut(error);
        }
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return collides(refusal.code()) || breaks_connection(refusal.code());
        }
        next = error.source();
    }
    false
}

/// Whether two transactions were in each other's way.
pub(super) fn collides(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

/// Whether the connection ended with it, so that nobody knows how far the server got.
pub(super) fn is_cut(error: &tokio_postgres::Error) -> bool {
    let Some(said) = error.as_db_error() else { return is_io(error) };
    let is_fatal = matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    is_fatal || breaks_connection(said.code()) || said.code().code() == "40003"
}
