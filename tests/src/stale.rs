//! The words that the test of stale workers and its program `stale_worker` share.

use std::str::FromStr;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $word:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $word,)*
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $(stringify!($word) => Ok(Self::$word),)*
                    _ => Err(format!("`{word}` is no {}", stringify!($name))),
                }
            }
        }
    };
}

words! {
    /// What is scheduled.
    Task {
        /// A command that is tried again in an hour when it fails.
        One,
        /// A command with one attempt.
        Last,
        /// Two commands that are handled together.
        Many,
        /// Two commands of which one cannot be read, and the other expires before its turn.
        Late,
    }
}

impl Task {
    /// How many deliveries it makes.
    #[must_use]
    pub fn deliveries(self) -> u64 {
        match self {
            Self::One | Self::Last => 1,
            Self::Many | Self::Late => 2,
        }
    }
}

words! {
    /// How a handler ends.
    Outcome {
        /// Well.
        Success,
        /// With an error.
        Error,
        /// With a panic.
        Panic,
    }
}

words! {
    /// How a worker goes about it.
    Manner {
        /// Schedules, and waits in its handler.
        Waits,
        /// Schedules, and blocks its thread in its handler: its lease is not renewed.
        Blocks,
        /// Waits for another's lease to expire, and does the work.
        Takes,
        /// The same, and waits in its handler.
        Holds,
    }
}
