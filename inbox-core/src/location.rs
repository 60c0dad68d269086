use std::fmt;

/// Where in the source something was declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Path of the file, as the compiler was given it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl Location {
    /// The place of the call.
    #[must_use]
    #[track_caller]
    pub const fn here() -> Self {
        let caller = std::panic::Location::caller();
        Self { file: caller.file(), line: caller.line(), column: caller.column() }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
