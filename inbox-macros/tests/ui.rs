//! What the compiler tells a user, mistake by mistake, and what it accepts.
//!
//! The expected output is that of the compiler named in `ui/rust-version`. Another one words its own
//! part differently, so `cargo xtask test` then sets `INBOX_UI=headlines`: every mistake must still
//! be refused, with the same headlines.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn correct_code_compiles() {
    trybuild::TestCases::new().pass("tests/ui/pass/*.rs");
}

#[test]
fn every_mistake_is_answered_with_what_to_write() {
    let expected = Path::new("tests/ui/fail");
    if std::env::var("INBOX_UI").as_deref() != Ok("headlines") {
        trybuild::TestCases::new().compile_fail(expected.join("*.rs"));
        return;
    }
    // In a copy, where this compiler's own output may be written.
    let copy = copied(expected);
    trybuild::TestCases::new().compile_fail(copy.join("*.rs"));
    for case in sources(expected) {
        let file = case.with_extension("stderr");
        let (wanted, got) = (headlines(&file), headlines(&copy.join(file.file_name().unwrap())));
        assert_eq!(wanted, got, "{}", case.display());
    }
}

fn copied(directory: &Path) -> PathBuf {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    fs::create_dir_all(&copy).unwrap();
    for case in sources(directory) {
        fs::copy(&case, copy.join(case.file_name().unwrap())).unwrap();
    }
    copy
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

fn headlines(file: &Path) -> Vec<String> {
    let output = fs::read_to_string(file).unwrap();
    output.lines().filter(|line| line.starts_with("error")).map(str::to_owned).collect()
}
