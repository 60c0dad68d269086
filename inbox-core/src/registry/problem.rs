use std::fmt::{self, Write as _};

use crate::Location;
use crate::contract::ContractDescriptor;

/// One thing that keeps the registry from being built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    what: String,
    fix: String,
    places: Vec<Location>,
}

impl Problem {
    /// Something wrong, what to write instead, and the attributes concerned.
    pub fn new(
        what: impl Into<String>,
        fix: impl Into<String>,
        places: impl IntoIterator<Item = Location>,
    ) -> Self {
        Self { what: what.into(), fix: fix.into(), places: places.into_iter().collect() }
    }

    pub(super) fn repeated_state(type_name: &'static str) -> Self {
        Self::new(
            format!("two values were given for `State<{type_name}>`"),
            "call `.state(value)` once per type; wrap one of them in a type of its own",
            [],
        )
    }

    pub(super) fn no_handler(contract: &ContractDescriptor) -> Self {
        let ContractDescriptor { name, version, type_name, location, .. } = contract;
        Self::new(
            format!("no handler takes version {version} of contract `{name}` (`{type_name}`)"),
            format!(
                "write `#[handler(key = \"...\")] async fn handle(command: {type_name}) {{}}`, \
                 name the crate that has it (`use that_crate as _;`), or allow it with \
                 `.contracts_without_handler(ContractsWithoutHandler::Allow)`"
            ),
            [*location],
        )
    }

    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to write instead.
    #[must_use]
    pub fn fix(&self) -> &str {
        &self.fix
    }

    /// The attributes concerned.
    #[must_use]
    pub fn places(&self) -> &[Location] {
        &self.places
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for place in &self.places {
            write!(f, "\n     at {place}")?;
        }
        write!(f, "\n     fix: {}", self.fix)
    }
}

/// The registry cannot be built; every reason at once.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(.problems))]
pub struct RegistryError {
    problems: Vec<Problem>,
}

// `fn main() -> Result<(), RegistryError>` and `unwrap` show this: it must be as readable.
impl fmt::Debug for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl RegistryError {
    /// These problems, for hosts and stores that found some of their own.
    #[must_use]
    pub fn new(problems: Vec<Problem>) -> Self {
        Self { problems }
    }

    /// Every problem.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

fn list(problems: &[Problem]) -> String {
    let noun = if problems.len() == 1 { "problem" } else { "problems" };
    let mut text = format!("the registry has {} {noun}:", problems.len());
    for (at, problem) in problems.iter().enumerate() {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\n{:>3}. {problem}", at + 1);
    }
    text
}
