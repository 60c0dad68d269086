/// What is ours to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Mode,
    Root,
    Pooler,
}

impl Key {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "sslmode" => Some(Self::Mode),
            "sslrootcert" => Some(Self::Root),
            // As other clients of PgBouncer have it.
            "pgbouncer" => Some(Self::Pooler),
            _ => None,
        }
    }
}
