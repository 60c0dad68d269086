use super::{BoxError, Failure, HandlerError};
use crate::settle::{Outcome, Outcomes};

/// What a handler may return: nothing, an [`Outcome`], or a `Result` of either.
///
/// There is no business result: nobody waits for the handler, so what it found out belongs where
/// it can be read later.
#[diagnostic::on_unimplemented(
    message = "a handler returns nothing, `Outcome`, `Result<(), E>` or `Result<Outcome, E>`, not `{Self}`",
    label = "nobody would receive this value",
    note = "the command was accepted long before the handler runs: store the result, or schedule \
            another command with it"
)]
pub trait HandlerReturn {
    /// The outcome of the run.
    ///
    /// # Errors
    /// When the handler failed.
    fn into_outcome(self) -> Result<Outcome, HandlerError>;
}

impl HandlerReturn for () {
    fn into_outcome(self) -> Result<Outcome, HandlerError> {
        Ok(Outcome::Completed)
    }
}

impl HandlerReturn for Outcome {
    fn into_outcome(self) -> Result<Outcome, HandlerError> {
        match self {
            Self::Failed(error) => Err(error),
            outcome => Ok(outcome),
        }
    }
}

impl<E: HandlerFailure> HandlerReturn for Result<(), E> {
    fn into_outcome(self) -> Result<Outcome, HandlerError> {
        self.map(|()| Outcome::Completed).map_err(failed)
    }
}

impl<E: HandlerFailure> HandlerReturn for Result<Outcome, E> {
    fn into_outcome(self) -> Result<Outcome, HandlerError> {
        self.map_err(failed)?.into_outcome()
    }
}

/// What a handler with `batch` may return: one answer for all commands, or a `Vec` with one for each.
#[diagnostic::on_unimplemented(
    message = "a handler with `batch` returns nothing, `Outcome`, a `Result` of these, or a `Vec` with \
               one of them for each command, not `{Self}`",
    label = "nobody would receive this value",
    note = "the commands were accepted long before the handler runs: store the result, or schedule \
            another command with it"
)]
pub trait BatchReturn {
    /// The outcome of the run, for each of so many commands.
    ///
    /// # Errors
    /// When the handler failed as a whole.
    fn into_outcomes(self, commands: usize) -> Result<Outcomes, HandlerError>;
}

impl BatchReturn for () {
    fn into_outcomes(self, _: usize) -> Result<Outcomes, HandlerError> {
        Ok(Outcome::Completed.into())
    }
}

impl BatchReturn for Outcome {
    fn into_outcomes(self, _: usize) -> Result<Outcomes, HandlerError> {
        self.into_outcome().map(Into::into)
    }
}

impl<R: HandlerReturn> BatchReturn for Vec<R> {
    fn into_outcomes(self, commands: usize) -> Result<Outcomes, HandlerError> {
        if self.len() != commands {
            return Err(HandlerError::WrongCount { given: commands, returned: self.len() });
        }
        let each = self.into_iter().map(|one| one.into_outcome().unwrap_or_else(Outcome::Failed));
        Ok(Outcomes::each(each.collect()))
    }
}

impl<R: BatchReturn, E: HandlerFailure> BatchReturn for Result<R, E> {
    fn into_outcomes(self, commands: usize) -> Result<Outcomes, HandlerError> {
        self.map_err(failed)?.into_outcomes(commands)
    }
}

fn failed<E: HandlerFailure>(error: E) -> HandlerError {
    HandlerError::Failed(Failure::new(error))
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
