use std::error::Error;
use std::fmt;

use crate::handler::HandlerError;

/// Longer texts are cut: an error must not outgrow the message it belongs to.
const LONGEST: usize = 8 * 1024;

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

impl From<&HandlerError> for ErrorReport {
    fn from(error: &HandlerError) -> Self {
        let error_type = match error {
            HandlerError::Failed(failure) => failure.type_name(),
            HandlerError::Undecodable { .. } => "undecodable",
            HandlerError::Layer(_) => "layer",
            HandlerError::Rejected(_) => "rejected",
            HandlerError::Panicked { .. } => "panic",
            HandlerError::TimedOut { .. } => "timeout",
            HandlerError::Codec { .. } => "codec",
        };
        Self::new(error_type, chain(error))
    }
}

/// What went wrong and why: a handler's own error speaks for itself.
fn chain(error: &HandlerError) -> String {
    let first: &dyn Error = match error {
        HandlerError::Failed(failure) => failure,
        other => other,
    };
    let mut text = first.to_string();
    let mut next = first.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        // Many errors repeat their cause in their own text.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        if text.len() > LONGEST {
            break;
        }
        next = cause.source();
    }
    text
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

    #[test]
    fn a_report_keeps_within_bounds_and_holds_no_nul() {
        let report = ErrorReport::new("x", format!("a\0{}", "ж".repeat(LONGEST)));
        assert!(report.text.len() < LONGEST + 10);
        assert!(report.text.starts_with("a\u{fffd}ж") && report.text.ends_with('…'));
    }
}
