use anyhow::{Result, bail};

use super::round::Ran;

/// A test that failed, or a program that failed as a whole.
pub(super) struct Failure {
    pub(super) name: String,
    /// What to type to run it alone.
    pub(super) again: String,
}

/// What became of all tests.
#[derive(Default)]
pub(super) struct Failures {
    failed: Vec<Failure>,
    passed: usize,
}

impl Failures {
    /// Takes note of what a program did; `failure` describes one of its tests, or the program itself.
    pub(super) fn note(&mut self, ran: &Ran, failure: impl Fn(Option<&str>) -> Failure) {
        self.passed += ran.printed.passed;
        let failed = &ran.printed.failed;
        self.failed.extend(failed.iter().map(|test| failure(Some(test))));
        // It died, or could not say which: then all of it is to be run again.
        if !ran.succeeded && failed.is_empty() {
            self.failed.push(failure(None));
        }
    }

    /// Lists what failed, last and in one place.
    pub(super) fn into_result(self) -> Result<()> {
        let Self { failed, passed } = self;
        if failed.is_empty() {
            println!("all {passed} tests passed");
            return Ok(());
        }
        println!("\n{passed} tests passed, {} failed:", failed.len());
        for Failure { name, again } in &failed {
            println!("  {name}\n    {again}");
        }
        bail!("{} of {} tests failed", failed.len(), failed.len() + passed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, Failures};
    use crate::test::lines::Printed;
    use crate::test::round::Ran;

    fn described(test: Option<&str>) -> Failure {
        let name = test.unwrap_or("program").to_owned();
        Failure { again: format!("run {name}"), name }
    }

    fn ran(failed: &[&str], succeeded: bool) -> Ran {
        let failed = failed.iter().map(ToString::to_string).collect();
        Ran { printed: Printed { passed: 2, failed, ..Printed::default() }, succeeded }
    }

    #[test]
    fn every_failure_of_every_program_is_listed() {
        let mut failures = Failures::default();
        failures.note(&ran(&["one", "two"], false), described);
        failures.note(&ran(&[], true), described);
        failures.note(&ran(&["three"], false), described);
        let names: Vec<_> = failures.failed.iter().map(|failure| failure.name.as_str()).collect();
        assert_eq!(names, ["one", "two", "three"]);
        assert_eq!(
            failures.into_result().err().map(|error| error.to_string()).as_deref(),
            Some("3 of 9 tests failed")
        );
    }

    #[test]
    fn a_program_that_dies_without_a_word_is_a_failure() {
        let mut failures = Failures::default();
        failures.note(&ran(&[], false), described);
        assert!(failures.into_result().is_err());
    }
}
