use std::fmt;

/// What a maintenance duty of a host is called. There is a constant for each, such as
/// [`ChoreName::RECLAIM`]; more may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChoreName(&'static str);

impl ChoreName {
    pub(super) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The word for it, such as `reclaim`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for ChoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}
