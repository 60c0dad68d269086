//! Crates that a test builds for real, because what is tested happens in the compiler's driver or
//! in the linker.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The outcome of building a fixture.
#[derive(Debug)]
pub struct Build {
    /// Whether `cargo` succeeded.
    pub succeeded: bool,
    /// Everything it printed.
    pub output: String,
}

/// The fixtures whose lock file is in place.
static READY: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A workspace of crates under `tests/fixtures`.
#[derive(Debug)]
pub struct Fixture {
    directory: PathBuf,
    target: PathBuf,
}

impl Fixture {
    /// The fixture `name`, with the dependency versions of this repository.
    ///
    /// # Panics
    /// When the repository is not laid out as expected.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let directory = repository.join("tests/fixtures").join(name);
        // Once, before the first build: another test's cargo may be reading it later.
        let mut ready = READY.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.insert(name.to_owned()) {
            let lock = directory.join("Cargo.lock");
            let copied = std::fs::copy(repository.join("Cargo.lock"), &lock);
            assert!(copied.is_ok(), "could not write {}: {copied:?}", lock.display());
        }
        // One target directory for all fixtures, so that the dependencies are built once.
        Self { directory, target: repository.join("target/fixtures") }
    }

    /// Builds one package with these further arguments of `cargo`.
    ///
    /// # Panics
    /// When `cargo` cannot be started.
    #[must_use]
    pub fn cargo(&self, subcommand: &str, package: &str, arguments: &[&str]) -> Build {
        let output = Command::new(env!("CARGO"))
            .args([subcommand, "--offline", "--quiet", "--package", package])
            .args(arguments)
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", &self.target)
            // What the surrounding test was built with must not leak in.
            .env_remove("RUSTFLAGS")
            .env("CARGO_TERM_COLOR", "never")
            .output();
        match output {
            Ok(output) => Build {
                succeeded: output.status.success(),
                output: [output.stdout, output.stderr]
                    .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                    .concat(),
            },
            Err(error) => panic!("could not start cargo: {error}"),
        }
    }
}
