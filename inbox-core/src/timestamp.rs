use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment, in whole microseconds since 1970 (UTC).
///
/// Microseconds are what PostgreSQL keeps, so a timestamp read back from a store equals the one
/// written to it. Shown and parsed as RFC 3339.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `micros` microseconds after (or, if negative, before) 1970.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// This machine's idea of the present.
    #[must_use]
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// Microseconds since 1970.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This moment plus `duration`, or the last representable one: never wraps, never panics.
    #[must_use]
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(saturating_micros(duration)))
    }

    /// How long it is from `earlier` to this moment; no time at all, if it is not earlier.
    #[must_use]
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        match self.0 > earlier.0 {
            true => Duration::from_micros(self.0.abs_diff(earlier.0)),
            false => Duration::ZERO,
        }
    }
}

/// The same as [`saturating_add`](Timestamp::saturating_add).
impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        self.saturating_add(duration)
    }
}

fn saturating_micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(saturating_micros(after)),
            Err(before) => Self(-saturating_micros(before.duration())),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => timestamp.fmt(f),
            // Outside the calendar's years: the number is all there is to show.
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not an RFC 3339 timestamp such as `2026-01-31T08:30:00Z`.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a timestamp: write it like 2026-01-31T08:30:00Z")]
pub struct ParseTimestampError {
    text: String,
    #[source]
    source: jiff::Error,
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match jiff::Timestamp::from_str(text) {
            Ok(timestamp) => Ok(Self(timestamp.as_microsecond())),
            Err(source) => Err(ParseTimestampError { text: text.to_owned(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_reads_back_as_it_was_shown() {
        let shown = "2026-01-31T08:30:00.000001Z";
        assert_eq!(shown.parse::<Timestamp>().unwrap().to_string(), shown);
    }

    #[test]
    fn adding_the_longest_duration_stops_at_the_last_moment() {
        let end = Timestamp::from_micros(0).saturating_add(Duration::MAX);
        assert_eq!(end.as_micros(), i64::MAX);
        assert_eq!(end.to_string(), format!("{}us", i64::MAX));
    }

    #[test]
    fn from_a_moment_to_an_earlier_one_it_takes_no_time() {
        let [first, second] = [i64::MIN, i64::MAX].map(Timestamp::from_micros);
        assert_eq!(first.saturating_duration_since(second), Duration::ZERO);
        assert_eq!(second.saturating_duration_since(first), Duration::from_micros(u64::MAX));
    }

    #[test]
    fn a_moment_before_1970_is_negative() {
        let before = UNIX_EPOCH - Duration::from_micros(3);
        assert_eq!(Timestamp::from(before).as_micros(), -3);
    }

    #[test]
    fn text_that_is_no_timestamp_is_answered_with_an_example() {
        let error = "tomorrow".parse::<Timestamp>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`tomorrow` is not a timestamp: write it like 2026-01-31T08:30:00Z"
        );
    }
}
