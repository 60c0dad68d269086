use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::error::SqlState;

/// Says what PostgreSQL's `error` means, and what to do about it.
pub(crate) fn translate(error: tokio_postgres::Error) -> StoreError {
    let (kind, what) = match error.code() {
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            (StoreErrorKind::Busy, "another transaction was in the way: do it again")
        }
        Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::TOO_MANY_CONNECTIONS) => {
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
            "the schema is missing: create it with `PostgresStore::ensure_schema`",
        ),
        Some(&SqlState::UNDEFINED_COLUMN | &SqlState::UNDEFINED_FUNCTION) => (
            StoreErrorKind::Schema,
            "the schema is older than this program: update it with `PostgresStore::ensure_schema`",
        ),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            (StoreErrorKind::ReadOnly, "this database role may not do that")
        }
        Some(&SqlState::UNTRANSLATABLE_CHARACTER | &SqlState::INVALID_TEXT_REPRESENTATION) => {
            (StoreErrorKind::Other, "the database cannot keep this text or this JSON")
        }
        Some(_) => (StoreErrorKind::Other, "the database refused a statement"),
        // Nobody knows how far it got.
        None => (StoreErrorKind::TimedOut, "the connection to the database broke"),
    };
    StoreError::new(kind, what).caused_by(error)
}

/// Whether a row was there already.
pub(crate) fn is_unique_violation(error: &StoreError) -> bool {
    let cause = std::error::Error::source(error);
    let cause = cause.and_then(|cause| cause.downcast_ref::<tokio_postgres::Error>());
    cause.and_then(tokio_postgres::Error::code) == Some(&SqlState::UNIQUE_VIOLATION)
}

/// A connection could not be had; nothing was asked of the database.
pub(crate) fn unreachable(error: deadpool_postgres::PoolError) -> StoreError {
    match error {
        deadpool_postgres::PoolError::Timeout(_) => StoreError::new(
            StoreErrorKind::Busy,
            "no connection became free in time: make the pool larger, or do less at once",
        ),
        error => StoreError::new(StoreErrorKind::CannotOpen, "the database cannot be reached")
            .caused_by(error),
    }
}
