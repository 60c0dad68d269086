use deadpool_postgres::{HookError, PoolError, TimeoutType};
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::error::SqlState;

use crate::refusal::{Refusal, without_rows};
use crate::tls;

/// Says what PostgreSQL's `error` means, and what to do about it.
pub(crate) fn translate(error: tokio_postgres::Error) -> StoreError {
    let (kind, what) = match error.code() {
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            (StoreErrorKind::Busy, "another transaction was in the way: do it again")
        }
        Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            (StoreErrorKind::Busy, "the database is busy: do it again later")
        }
        Some(&SqlState::QUERY_CANCELED) => {
            (StoreErrorKind::Busy, "the database cancelled the statement: raise its timeout")
        }
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {
            (StoreErrorKind::ReadOnly, "the database is read-only: connect to the primary")
        }
        Some(&SqlState::DISK_FULL | &SqlState::OUT_OF_MEMORY) => {
            (StoreErrorKind::Full, "the database has no room left")
        }
        Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME) => (
            StoreErrorKind::Schema,
            "the schema is missing: create it with `PostgresOptions::migrate`; or this transaction is on another database than the store's",
        ),
        Some(&SqlState::UNDEFINED_COLUMN | &SqlState::UNDEFINED_FUNCTION) => (
            StoreErrorKind::Schema,
            "the schema is older than this program: update it with `PostgresOptions::migrate`",
        ),
        Some(&SqlState::INVALID_SQL_STATEMENT_NAME | &SqlState::DUPLICATE_PSTATEMENT) => (
            StoreErrorKind::Other,
            "a statement that was prepared is not there, or is someone else's: this looks like a pooler in transaction mode, such as PgBouncer; open the store with `PostgresOptions::behind_pooler`, or write `pgbouncer=true` into its address",
        ),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            let message = format!(
                "this database role may not do that ({}): to schedule takes a member of \
                 `inbox_writer`, to load in bulk one of `inbox_bulk_writer`, to work one of \
                 `inbox_worker`, to look at deliveries and to retry, cancel or reschedule them one \
                 of `inbox_operator`; `PostgresOptions::roles_sql` makes these roles, named after \
                 the schema",
                said(&error)
            );
            return StoreError::new(StoreErrorKind::ReadOnly, message)
                .caused_by(without_rows(error));
        }
        Some(
            &SqlState::UNTRANSLATABLE_CHARACTER
            | &SqlState::INVALID_TEXT_REPRESENTATION
            | &SqlState::NUMERIC_VALUE_OUT_OF_RANGE
            | &SqlState::STATEMENT_TOO_COMPLEX,
        ) => (StoreErrorKind::Other, "the database cannot keep this text or this JSON"),
        Some(code) if breaks_connection(code) => {
            (StoreErrorKind::TimedOut, "the database ended the connection")
        }
        Some(_) => (StoreErrorKind::Other, "the database refused a statement"),
        // Nobody knows how far it got.
        None if is_io(&error) => (StoreErrorKind::TimedOut, "the connection to the database broke"),
        None => (StoreErrorKind::Other, "the driver refused a statement"),
    };
    StoreError::new(kind, what).caused_by(without_rows(error))
}

/// Whether the server stopped the statement, such as after its time was over.
pub(crate) fn is_cancelled(error: &StoreError) -> bool {
    has_code(error, &SqlState::QUERY_CANCELED)
}

fn has_code(error: &StoreError, code: &SqlState) -> bool {
    let cause = std::error::Error::source(error);
    let cause = cause.and_then(|cause| cause.downcast_ref::<Refusal>());
    cause.is_some_and(|refusal| refusal.code() == code)
}

/// Whether the server was stopped, or cut the connection, while something was under way.
pub(crate) fn breaks_connection(code: &SqlState) -> bool {
    let code = code.code();
    code.starts_with("08") || ["57P01", "57P02", "57P05", "25P03"].contains(&code)
}

pub(crate) fn is_io(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error);
    error.is_closed() || cause.is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// A connection could not be had; nothing was asked of the database.
pub(crate) fn unreachable(error: PoolError, place: &str) -> StoreError {
    if let PoolError::Backend(cause) = &error
        && let Some(what) = tls::explain(cause)
    {
        return StoreError::new(StoreErrorKind::CannotOpen, what).caused_by(error);
    }
    let (kind, what) = match &error {
        PoolError::Timeout(TimeoutType::Wait) => (
            StoreErrorKind::Busy,
            "no connection became free in time: make the pool larger, or do less at once; whoever \
             holds one in a transaction schedules within it, `scheduler.within(&transaction)`",
        ),
        PoolError::Timeout(_) => {
            (StoreErrorKind::Busy, "the database did not answer in time when it was connected to")
        }
        PoolError::Closed => (StoreErrorKind::Closed, "the store was closed"),
        // A server that is starting, full or away comes back.
        PoolError::Backend(cause) | PoolError::PostCreateHook(HookError::Backend(cause))
            if is_io(cause) || is_away(cause) =>
        {
            let message = format!("the database{place} cannot be reached at the moment");
            return StoreError::new(StoreErrorKind::Busy, message).caused_by(error);
        }
        PoolError::Backend(cause) => {
            let message = format!("the database refuses the connection: {}", said(cause));
            return StoreError::new(StoreErrorKind::CannotOpen, message).caused_by(error);
        }
        _ => (StoreErrorKind::CannotOpen, "the database refuses the connection"),
    };
    StoreError::new(kind, what).caused_by(error)
}

/// What the server or the driver says is wrong. Neither repeats a password.
fn said(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(refusal) => refusal.message().to_owned(),
        None => error.to_string(),
    }
}

fn is_away(error: &tokio_postgres::Error) -> bool {
    let is_unable =
        |code| [SqlState::CANNOT_CONNECT_NOW, SqlState::TOO_MANY_CONNECTIONS].contains(code);
    error.code().is_some_and(|code| is_unable(code) || breaks_connection(code))
}
