use super::fields::Torn;
use super::{Entry, line};

/// What a ledger says, in the order it was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    entries: Vec<Entry>,
    torn: Vec<TornLine>,
}

/// A line that is no entry: its process was killed while it wrote, or someone else wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornLine {
    /// Which line of the file, from 1.
    pub number: usize,
    /// What is there of it.
    pub text: String,
}

impl History {
    /// Reads the content of a ledger's file. Whatever the bytes are, what can be read of them is.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let mut history = Self::default();
        for (index, bytes) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let entry = str::from_utf8(bytes).map_err(|_| Torn).and_then(line::decode);
            match entry {
                Ok(entry) => history.entries.push(entry),
                Err(Torn) if bytes.is_empty() => {}
                Err(Torn) => {
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    history.torn.push(TornLine { number: index + 1, text });
                }
            }
        }
        history
    }

    /// The entries.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The lines that are not whole. Each process that was killed may leave one.
    #[must_use]
    pub fn torn(&self) -> &[TornLine] {
        &self.torn
    }
}

impl FromIterator<Entry> for History {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect(), torn: Vec::new() }
    }
}
