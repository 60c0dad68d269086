//! What a fleet of programs is at, so that each can say for certain when it did something.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What the fleet is at. With an odd number, something is being changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase(String);

impl Phase {
    /// Whether nothing more is to be done.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0 == "over"
    }

    fn is_settled(&self) -> bool {
        self.0.parse::<u64>().is_ok_and(|number| number % 2 == 0)
    }
}

/// A directory that says what the fleet is at, and keeps what its programs note.
#[derive(Debug, Clone)]
pub struct Phases {
    directory: PathBuf,
}

/// Something that happened within one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The phase.
    pub phase: u64,
    /// What it was.
    pub what: String,
    /// Who did it.
    pub who: String,
}

impl Phases {
    /// Those in this directory.
    #[must_use]
    pub fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The phase now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn now(&self) -> io::Result<Phase> {
        std::fs::read_to_string(self.directory.join("phase")).map(Phase)
    }

    /// From now on it is this one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set(&self, phase: &str) -> io::Result<()> {
        // By another name first: nobody reads the half of it.
        let draft = self.directory.join("phase.draft");
        std::fs::write(&draft, phase)?;
        std::fs::rename(draft, self.directory.join("phase"))
    }

    /// Notes what was begun in `before` and has ended, if that phase is not over yet.
    ///
    /// # Errors
    /// When the files cannot be read or written.
    pub fn note_since(&self, before: &Phase, what: &str, who: &str) -> io::Result<()> {
        if !before.is_settled() || self.now()? != *before {
            return Ok(());
        }
        let notes = self.directory.join("notes");
        let mut notes = OpenOptions::new().create(true).append(true).open(notes)?;
        notes.write_all(format!("{} {what} {who}\n", before.0).as_bytes())
    }

    /// All that was noted; the last line of a program that was killed may be missing.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let notes = std::fs::read_to_string(self.directory.join("notes")).unwrap_or_default();
        let read = |line: &str| {
            let mut words = line.split(' ');
            let phase = words.next()?.parse().ok()?;
            Some(Note { phase, what: words.next()?.to_owned(), who: words.next()?.to_owned() })
        };
        notes.lines().filter_map(read).collect()
    }
}
