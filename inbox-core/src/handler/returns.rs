use super::{BoxError, Failure, HandlerError};

/// What a handler may return: nothing, or `Result<(), E>`.
///
/// There is no business result: nobody waits for the handler, so what it found out belongs where
/// it can be read later.
#[diagnostic::on_unimplemented(
    message = "a handler returns nothing or `Result<(), E>`, not `{Self}`",
    label = "nobody would receive this value",
    note = "the command was accepted long before the handler runs: store the result, or schedule \
            another command with it"
)]
pub trait HandlerReturn {
    /// The outcome of the run.
    ///
    /// # Errors
    /// When the handler returned an error.
    fn into_result(self) -> Result<(), HandlerError>;
}

impl HandlerReturn for () {
    fn into_result(self) -> Result<(), HandlerError> {
        Ok(())
    }
}

impl<E: HandlerFailure> HandlerReturn for Result<(), E> {
    fn into_result(self) -> Result<(), HandlerError> {
        self.map_err(|error| HandlerError::Failed(Failure::new(error)))
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
