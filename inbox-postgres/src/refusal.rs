use std::fmt;

use inbox_core::error::BoxError;
use tokio_postgres::error::SqlState;

/// What the server said, without what it tells of the row concerned: that holds a payload.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: SqlState,
    message: String,
    constraint: Option<String>,
}

impl Refusal {
    pub(crate) fn code(&self) -> &SqlState {
        &self.code
    }
}

/// The error as it may be shown.
pub(crate) fn without_rows(error: tokio_postgres::Error) -> BoxError {
    let Some(refused) = error.as_db_error() else { return error.into() };
    Refusal {
        code: refused.code().clone(),
        message: refused.message().to_owned(),
        constraint: refused.constraint().map(str::to_owned),
    }
    .into()
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {}", self.message, self.code.code())?;
        if let Some(constraint) = &self.constraint {
            write!(f, ", constraint {constraint}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Refusal {}
