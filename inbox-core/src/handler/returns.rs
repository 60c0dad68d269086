use crate::error::{Failure, HandlerFailure};
use crate::outcome::{HandlerError, Outcome, Outcomes};

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
