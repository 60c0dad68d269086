use std::path::PathBuf;
use std::process::Command;

/// One program of tests.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) package: String,
    pub(super) directory: PathBuf,
    pub(super) target: String,
    /// As cargo calls it: `lib`, `bin`, `test`, …
    pub(super) kind: String,
    pub(super) path: PathBuf,
}

impl Program {
    /// Its package, and which program of it.
    pub(super) fn name(&self) -> String {
        match self.kind.as_str() {
            "test" | "bin" => format!("{} {}", self.package, self.target),
            _ => self.package.clone(),
        }
    }

    /// Whether it is a test program of this package, and none of those.
    pub(super) fn is_of(&self, package: &str, but: &[&str]) -> bool {
        self.package == package && self.kind == "test" && !but.contains(&self.target.as_str())
    }

    /// Starts it as `cargo test` would.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.directory);
        command.env("CARGO_MANIFEST_DIR", &self.directory).env("CARGO_PKG_NAME", &self.package);
        command
    }

    /// What to type to run one of its tests alone, or all of them.
    pub(super) fn again(&self, test: Option<&str>) -> String {
        let target = match self.kind.as_str() {
            "test" | "bin" | "example" => format!("--{} {}", self.kind, self.target),
            _ => "--lib".to_owned(),
        };
        let test = test.map_or(String::new(), |test| format!(" -- --exact {test}"));
        format!("cargo test --package {} --all-features {target}{test}", self.package)
    }
}
