use std::borrow::Cow;
use std::time::Duration;

/// How a failed delivery is tried again.
///
/// Two tiers: *immediate* retries run within the same attempt and keep its lease; after them the
/// delivery waits for its next attempt as [`Delays`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a failing run is repeated at once, within its attempt.
    pub immediate: u32,
    /// The pause before an immediate retry.
    pub immediate_delay: Duration,
    /// How long a delivery waits between attempts.
    pub delays: Delays,
}

/// How long a delivery waits between attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delays {
    /// Computed from the number of failures.
    Growing {
        /// How the delay grows.
        backoff: Backoff,
        /// The first delay.
        initial: Duration,
        /// No delay is longer.
        max: Duration,
        /// How far delays are spread.
        jitter: Jitter,
    },
    /// Given one by one; their number decides the number of attempts.
    Listed(Cow<'static, [Duration]>),
}

/// How a delay grows with every failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backoff {
    /// Always the first delay.
    Constant,
    /// The first delay times the number of failures.
    Linear,
    /// The first delay, doubled by every failure.
    Exponential,
}

/// How far a delay is spread, so that what failed together does not return together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Jitter {
    /// Exactly the delay.
    None,
    /// Between half the delay and the delay.
    Equal,
    /// Between nothing and the delay.
    Full,
}

impl RetryPolicy {
    /// The first delay where none is given.
    pub const DEFAULT_INITIAL: Duration = Duration::from_secs(5);
    /// The longest delay where none is given.
    pub const DEFAULT_MAX: Duration = Duration::from_mins(5);
    /// The pause before an immediate retry where none is given.
    pub const DEFAULT_IMMEDIATE_DELAY: Duration = Duration::from_millis(200);
}

impl Default for RetryPolicy {
    /// No immediate retries; delays from 5 seconds to 5 minutes, doubling, with equal jitter.
    fn default() -> Self {
        Self {
            immediate: 0,
            immediate_delay: Self::DEFAULT_IMMEDIATE_DELAY,
            delays: Delays::Growing {
                backoff: Backoff::Exponential,
                initial: Self::DEFAULT_INITIAL,
                max: Self::DEFAULT_MAX,
                jitter: Jitter::Equal,
            },
        }
    }
}

/// The shorter of two durations, in a constant.
#[must_use]
pub const fn shorter(left: Duration, right: Duration) -> Duration {
    if left.as_nanos() < right.as_nanos() { left } else { right }
}

/// The longer of two durations, in a constant.
#[must_use]
pub const fn longer(left: Duration, right: Duration) -> Duration {
    if left.as_nanos() > right.as_nanos() { left } else { right }
}
