use std::num::NonZeroU32;
use std::time::Duration;

/// How many deliveries of one handler run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Concurrency {
    /// At most this many in one process.
    pub process: Option<NonZeroU32>,
    /// At most this many in the whole fleet.
    pub fleet: Option<NonZeroU32>,
    /// At most this many in the whole fleet for one concurrency key.
    pub per_key: Option<NonZeroU32>,
}

/// How many deliveries of one handler may start in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// This many …
    pub count: NonZeroU32,
    /// … in each stretch of this length.
    pub per: Duration,
}

/// How deliveries are gathered for a handler that takes a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// A batch holds at most this many commands.
    pub size: NonZeroU32,
    /// How long an incomplete batch waits for more.
    pub linger: Duration,
}

/// A limit that a macro has checked to be at least one.
///
/// # Panics
/// While compiling, if it has not.
#[must_use]
pub const fn at_least_one(value: u32) -> NonZeroU32 {
    match NonZeroU32::new(value) {
        Some(value) => value,
        None => panic!("a limit of 0 was let through"),
    }
}
