use std::error::Error;
use std::fmt::{self, Write as _};

use crate::dispatch::caught;
use crate::handler::HandlerError;
use crate::settle::DeadReason;

/// Longer texts are cut: an error must not outgrow the message it belongs to.
const LONGEST: usize = 8 * 1024;

/// Causes of causes that are told: a chain may be a ring.
const MOST_CAUSES: usize = 32;

/// Keys that are named; a fleet may have hundreds.
const MOST_KEYS: usize = 50;

/// An error as it is stored beside a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    /// The type of the handler's error, or a word for what else went wrong.
    pub error_type: String,
    /// The error and its causes, outermost first.
    pub text: String,
}

impl ErrorReport {
    /// An error of this type that says `text`.
    #[must_use]
    pub fn new(error_type: impl Into<String>, text: impl Into<String>) -> Self {
        // What PostgreSQL cannot keep must not keep a failure from being recorded.
        let text = cut(text.into()).replace('\0', "\u{fffd}");
        Self { error_type: error_type.into(), text }
    }
}

impl ErrorReport {
    /// What is said of a worker that did not report back.
    #[must_use]
    pub fn lease_expired() -> Self {
        Self::new(
            DeadReason::LeaseExpired.as_str(),
            "the worker did not report back before its lease expired: it crashed, its handler \
             blocked the thread, or it was cut off from the store",
        )
    }
}

impl ErrorReport {
    /// What is said of a delivery whose key nobody serves, while hosts with the `live` keys do their
    /// work.
    #[must_use]
    pub fn orphaned(handler_key: &str, live: &[String]) -> Self {
        let shown: Vec<_> = live.iter().take(MOST_KEYS).map(|key| format!("`{key}`")).collect();
        let more = match live.len().saturating_sub(MOST_KEYS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let live = match shown.is_empty() {
            true => "there are none".to_owned(),
            false => format!("live ones are: {}{more}", shown.join(", ")),
        };
        Self::new(
            DeadReason::Orphaned.as_str(),
            format!(
                "no live handler for key `{handler_key}`; {live}; start a program that has it, as its \
                 `key` or in `legacy`, and retry this delivery"
            ),
        )
    }
}

impl From<&HandlerError> for ErrorReport {
    fn from(error: &HandlerError) -> Self {
        let error = error.innermost();
        let error_type = match error {
            HandlerError::Failed(failure) => failure.type_name(),
            HandlerError::Undecodable { .. } => "undecodable",
            HandlerError::Unreadable { .. } => "unreadable",
            HandlerError::Layer(_) => "layer",
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
        if text.len() > LONGEST {
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
        if self.0.len() > LONGEST { Err(fmt::Error) } else { Ok(()) }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

impl fmt::Display for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::Failure;

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
        assert!(report(Hostile::NeverEnds).len() < LONGEST + 10);
    }

    #[test]
    fn a_report_keeps_within_bounds_and_holds_no_nul() {
        let report = ErrorReport::new("x", format!("a\0{}", "ж".repeat(LONGEST)));
        assert!(report.text.len() < LONGEST + 10);
        assert!(report.text.starts_with("a\u{fffd}ж") && report.text.ends_with('…'));
    }
}
