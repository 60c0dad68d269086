use std::fmt;

use super::Summary;

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// What was accepted, or has run, is in the store.
    NothingLost,
    /// A message has deliveries for the expected handlers only.
    NothingMisrouted,
    /// Nothing is accepted twice, stored twice, or run after it was completed.
    NothingDoubled,
    /// A delivery is run by one valid attempt at a time.
    OneAttemptAtATime,
    /// A later attempt has no lower number.
    AttemptsCountUp,
    /// What is completed was completed by a handler, before another one had its delivery.
    CompletedBySuccess,
    /// Messages with one ordering key are handled one at a time, in order.
    InOrder,
    /// No more run at once than a limit lets.
    WithinLimits,
    /// Whatever is not settled will be found by someone.
    Reachable,
    /// Everything is settled.
    Settled,
}

/// A rule that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// What happened instead, in a sentence.
    pub sentence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.sentence)
    }
}

/// All that is wrong with a history.
#[derive(Clone, PartialEq, Eq)]
pub struct Violations {
    found: Vec<Violation>,
    summary: Summary,
}

impl Violations {
    /// How many are shown; one is enough to start looking, and all of them may be thousands.
    const SHOWN: usize = 20;

    pub(super) fn new(found: Vec<Violation>, summary: Summary) -> Self {
        Self { found, summary }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Violation] {
        &self.found
    }

    /// How much happened.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
}

impl std::error::Error for Violations {}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.found.len();
        let noun = if count == 1 { "violation" } else { "violations" };
        write!(f, "{count} {noun} in a history of {}", self.summary)?;
        for violation in self.found.iter().take(Self::SHOWN) {
            write!(f, "\n- {violation}")?;
        }
        match count.saturating_sub(Self::SHOWN) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

// What a test that unwraps them shows.
impl fmt::Debug for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
