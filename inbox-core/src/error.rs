//! Errors that are not ours: what a handler, a layer or an extractor answered.

use std::fmt;

/// Any error, as every library can produce it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The error a handler returned, of any type.
pub struct Failure {
    type_name: &'static str,
    error: BoxError,
}

impl Failure {
    /// Keeps the handler's error together with the name of its type.
    #[must_use]
    pub fn new<E: HandlerFailure>(error: E) -> Self {
        Self { type_name: std::any::type_name::<E>(), error: error.into_box() }
    }

    /// The type that the handler's signature names.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// The error itself.
    #[must_use]
    pub fn error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.error
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.type_name).field(&self.error).finish()
    }
}

// A failure stands for the error it holds: it adds no line of its own to the chain.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// An error that a handler may return: `std::error::Error`, `anyhow::Error`, `String` and all else
/// that turns into a boxed error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler's error",
    label = "not an error type",
    note = "a type of your own implements `std::error::Error`; a boxed error is \
            `Box<dyn std::error::Error + Send + Sync>`; `anyhow::Error` and `String` work as they are"
)]
pub trait HandlerFailure: 'static {
    /// The error in the form every library understands.
    fn into_box(self) -> BoxError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError> + 'static> HandlerFailure for E {
    #[cfg(not(feature = "anyhow"))]
    fn into_box(self) -> BoxError {
        self.into()
    }

    // Boxed in the usual way, an `anyhow::Error` hides the type of the error inside it from
    // whoever wants to match on it.
    #[cfg(feature = "anyhow")]
    fn into_box(self) -> BoxError {
        let mut error = Some(self);
        let any: &mut dyn std::any::Any = &mut error;
        match any.downcast_mut::<Option<anyhow::Error>>().and_then(Option::take) {
            Some(error) => error.reallocate_into_boxed_dyn_error_without_backtrace(),
            None => error.map_or_else(|| "the error was lost".into(), Into::into),
        }
    }
}

/// An argument could not be extracted for this run.
///
/// Made of any error with `?`; for that it is no error itself.
#[derive(Debug)]
pub struct Rejection(BoxError);

impl Rejection {
    /// The error behind it.
    #[must_use]
    pub fn into_error(self) -> BoxError {
        self.0
    }
}

impl<E: Into<BoxError>> From<E> for Rejection {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}
