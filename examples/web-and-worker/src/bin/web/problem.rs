use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use inbox::postgres::{deadpool_postgres::PoolError, tokio_postgres};
use inbox::schedule::ScheduleError;
use inbox::store::StoreError;
use serde::Serialize;

/// Why a request was not done, in words for whoever sent it.
pub(crate) struct Problem {
    status: StatusCode,
    error: String,
}

#[derive(Serialize)]
struct Body {
    error: String,
}

impl Problem {
    fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into() }
    }

    pub(crate) fn bad_request(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(crate) fn not_found(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// It can be read, and makes no sense.
    pub(crate) fn invalid(error: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    }

    /// The database is away: what it says about that is for operators, and trying again may help.
    fn unavailable(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "a request failed");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "try again in a moment")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(Body { error: self.error })).into_response()
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl From<ScheduleError> for Problem {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Conflict { .. } => {
                let text = "there is an order with this name that says something else";
                Self::new(StatusCode::CONFLICT, text)
            }
            ScheduleError::Store(error) => error.into(),
            // What no store would take: it says what to change.
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::unavailable(&error)
    }
}

impl From<PoolError> for Problem {
    fn from(error: PoolError) -> Self {
        Self::unavailable(&error)
    }
}

impl From<tokio_postgres::Error> for Problem {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::unavailable(&error)
    }
}
