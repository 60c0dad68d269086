/// What is ours to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Mode,
    Root,
}

impl Key {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "sslmode" => Some(Self::Mode),
            "sslrootcert" => Some(Self::Root),
            _ => None,
        }
    }
}
