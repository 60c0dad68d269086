use std::error::Error;
use std::fmt::{self, Write as _};

use super::HandlerError;
use crate::panic::caught;
use crate::settle::ErrorReport;

/// Causes of causes that are told: a chain may be a ring.
const MOST_CAUSES: usize = 32;

impl From<&HandlerError> for ErrorReport {
    fn from(error: &HandlerError) -> Self {
        let error = error.innermost();
        let error_type = match error {
            HandlerError::Failed(failure) => failure.type_name(),
            HandlerError::Undecodable { .. } => "undecodable",
            HandlerError::Unreadable { .. } => "unreadable",
            HandlerError::Layer(_) => "layer",
            HandlerError::TransactionNotBegun(_) => "transaction-not-begun",
            HandlerError::Rejected(_) => "rejected",
            HandlerError::Panicked { .. } => "panic",
            HandlerError::TimedOut { .. } => "timeout",
            HandlerError::Codec { .. } => "codec",
            HandlerError::LeaseLost { .. } => "lease-lost",
            HandlerError::Unsure(_) => "unsure",
            HandlerError::WrongCount { .. } => "wrong-count",
            HandlerError::TransactionDropped => "transaction-dropped",
            HandlerError::Conflict(_) | HandlerError::InBatch { .. } => "batch",
        };
        // An error is a user's code: what it says of itself may panic, or never end.
        let text = caught(|| chain(error));
        Self::new(error_type, text.unwrap_or_else(|_| "the error panicked when asked".to_owned()))
    }
}

/// What went wrong and why: a handler's own error speaks for itself.
fn chain(error: &HandlerError) -> String {
    let first: &dyn Error = match error {
        HandlerError::Failed(failure) => failure,
        other => other,
    };
    let mut text = shown(first);
    let mut next = first.source();
    for _ in 0..MOST_CAUSES {
        let Some(error) = next else { break };
        next = error.source();
        let cause = shown(error);
        // Many errors repeat their cause in their own text.
        if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        if text.len() > ErrorReport::LONGEST {
            break;
        }
    }
    text
}

/// What an error says, up to a length. One that cannot be written ends there.
fn shown(error: &dyn Error) -> String {
    let mut text = Bounded(String::new());
    let _ = write!(text, "{error}");
    text.0
}

/// Text that stops growing.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() > ErrorReport::LONGEST { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Failure;

    #[derive(Debug, thiserror::Error)]
    #[error("declined")]
    struct Declined(#[source] std::io::Error);

    #[test]
    fn a_report_names_the_type_and_every_cause() {
        let error = Declined(std::io::Error::other("the line is dead"));
        let report = ErrorReport::from(&HandlerError::Failed(Failure::new(error)));
        assert!(report.error_type.ends_with("Declined"), "{}", report.error_type);
        assert_eq!(report.text, "declined: the line is dead");
    }

    #[derive(Debug)]
    enum Hostile {
        Panics,
        CannotBeWritten,
        IsItsOwnCause,
        NeverEnds,
    }

    impl fmt::Display for Hostile {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Panics => panic!("no"),
                Self::CannotBeWritten => Err(fmt::Error),
                Self::IsItsOwnCause => f.write_str("again"),
                Self::NeverEnds => loop {
                    f.write_str("and on ")?;
                },
            }
        }
    }

    impl Error for Hostile {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            matches!(self, Self::IsItsOwnCause).then_some(self)
        }
    }

    #[test]
    fn an_error_that_misbehaves_is_reported_all_the_same() {
        let report = |error| ErrorReport::from(&HandlerError::Failed(Failure::new(error))).text;
        assert_eq!(report(Hostile::Panics), "the error panicked when asked");
        assert_eq!(report(Hostile::CannotBeWritten), "");
        assert_eq!(report(Hostile::IsItsOwnCause), "again");
        assert!(report(Hostile::NeverEnds).len() < ErrorReport::LONGEST + 10);
    }
}
