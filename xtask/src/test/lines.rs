use std::io::{BufRead as _, BufReader, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a program of tests printed, as far as it is of interest.
#[derive(Default)]
pub(super) struct Printed {
    /// All of it, to be shown if something failed.
    pub(super) text: String,
    pub(super) passed: usize,
    /// The names of the tests that failed.
    pub(super) failed: Vec<String>,
}

/// Reads the output of a program of tests until it ends. Failures are told at once.
pub(super) fn read(output: impl Read, program: &str, printed: &Mutex<Printed>) {
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line).into_owned();
        let mut printed = held(printed);
        match verdict(&text) {
            Some((_, "ok")) => printed.passed += 1,
            Some((name, "FAILED")) => {
                println!("  FAILED {program} {name}");
                printed.failed.push(name.to_owned());
            }
            _ => {}
        }
        printed.text.push_str(&text);
        line.clear();
    }
}

pub(super) fn held(printed: &Mutex<Printed>) -> MutexGuard<'_, Printed> {
    // Each line is noted as a whole.
    printed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a test and what became of it, if this line says so.
fn verdict(line: &str) -> Option<(&str, &str)> {
    let (name, verdict) = line.trim_end().strip_prefix("test ")?.rsplit_once(" ... ")?;
    // A test that should panic, or must not be compiled, says so after its name.
    let name = name.split(" - should panic").next().unwrap_or(name);
    Some((name.trim_end_matches(" - compile fail").trim_end_matches(" - compile"), verdict))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::Printed;

    fn read(output: &[u8]) -> Printed {
        let printed = Mutex::default();
        super::read(output, "program", &printed);
        printed.into_inner().unwrap_or_default()
    }

    #[test]
    fn failures_are_known_by_their_names() {
        let output = "running 4 tests\ntest a::passes ... ok\ntest b::fails ... FAILED\n\
                      test src/lib.rs - x (line 3) ... FAILED\ntest c - should panic ... ok\n\
                      test d ... ignored\ntest result: FAILED. 2 passed; 2 failed\n";
        let printed = read(output.as_bytes());
        assert_eq!(printed.passed, 2);
        assert_eq!(printed.failed, ["b::fails", "src/lib.rs - x (line 3)"]);
        assert_eq!(printed.text, output);
    }

    #[test]
    fn output_that_is_no_text_ends_nothing() {
        let printed = read(b"test a ... ok\n\xff\xfe\ntest b ... FAILED\n");
        assert_eq!((printed.passed, printed.failed.len()), (1, 1));
    }
}
