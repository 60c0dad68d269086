use std::fmt;

use super::DeadReason;

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
    /// Longer texts are cut: an error must not outgrow the message it belongs to.
    pub const LONGEST: usize = 8 * 1024;

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

fn cut(mut text: String) -> String {
    if text.len() > ErrorReport::LONGEST {
        text.truncate(text.floor_char_boundary(ErrorReport::LONGEST));
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

    #[test]
    fn a_report_keeps_within_bounds_and_holds_no_nul() {
        let report = ErrorReport::new("x", format!("a\0{}", "ж".repeat(ErrorReport::LONGEST)));
        assert!(report.text.len() < ErrorReport::LONGEST + 10);
        assert!(report.text.starts_with("a\u{fffd}ж") && report.text.ends_with('…'));
    }
}
