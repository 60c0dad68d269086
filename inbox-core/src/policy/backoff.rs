use std::time::Duration;

use super::{Backoff, Delays, Jitter, RetryPolicy};

/// No delay is shorter: a delivery that came back at once would spin.
const SHORTEST: Duration = Duration::from_millis(1);

impl RetryPolicy {
    /// How long a delivery waits after its `failures`th failed attempt, from 1.
    ///
    /// `random` decides about the jitter, so that the answer depends on nothing else. Whatever the
    /// numbers are, the delay is at least a millisecond and else not above the longest, and nothing
    /// overflows.
    #[must_use]
    pub fn delay(&self, failures: u32, random: u64) -> Duration {
        let delay = match &self.delays {
            Delays::Listed(delays) => listed(delays, failures),
            Delays::Growing { backoff, initial, max, jitter } => {
                spread(grown(*backoff, *initial, failures).min(*max), *jitter, random)
            }
        };
        delay.max(SHORTEST)
    }
}

/// The delay after that failure; the last one where there are more failures than delays.
fn listed(delays: &[Duration], failures: u32) -> Duration {
    let at = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    delays.get(at).or(delays.last()).copied().unwrap_or(SHORTEST)
}

fn grown(backoff: Backoff, initial: Duration, failures: u32) -> Duration {
    match backoff {
        Backoff::Constant => initial,
        Backoff::Linear => initial.saturating_mul(failures.max(1)),
        Backoff::Exponential => {
            // Past 2^31 the product is beyond any cap that makes sense.
            let doublings = failures.saturating_sub(1).min(31);
            initial.saturating_mul(1 << doublings)
        }
    }
}

fn spread(delay: Duration, jitter: Jitter, random: u64) -> Duration {
    match jitter {
        Jitter::None => delay,
        Jitter::Equal => delay / 2 + share(delay.saturating_sub(delay / 2), random),
        Jitter::Full => share(delay, random),
    }
}

/// Between nothing and all of `whole`, as `random` lies between 0 and `u64::MAX`.
fn share(whole: Duration, random: u64) -> Duration {
    // The longest duration takes 94 bits in nanoseconds: with 30 bits of chance it fits in 128.
    let nanos = (whole.as_nanos() * u128::from(random >> 34)) >> 30;
    let seconds = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
    let rest = u32::try_from(nanos % 1_000_000_000).unwrap_or(0);
    Duration::new(seconds, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growing(backoff: Backoff, jitter: Jitter) -> RetryPolicy {
        let (initial, max) = (Duration::from_secs(5), Duration::from_mins(5));
        let delays = Delays::Growing { backoff, initial, max, jitter };
        RetryPolicy { delays, ..RetryPolicy::default() }
    }

    fn seconds(policy: &RetryPolicy, failures: std::ops::RangeInclusive<u32>) -> Vec<u64> {
        failures.map(|failures| policy.delay(failures, 0).as_secs()).collect()
    }

    #[test]
    fn delays_grow_as_the_policy_says_up_to_the_longest() {
        let exponential = growing(Backoff::Exponential, Jitter::None);
        assert_eq!(seconds(&exponential, 1..=8), [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(seconds(&growing(Backoff::Linear, Jitter::None), 1..=3), [5, 10, 15]);
        assert_eq!(seconds(&growing(Backoff::Constant, Jitter::None), 1..=3), [5, 5, 5]);
    }

    #[test]
    fn listed_delays_are_taken_in_turn_and_the_last_one_stays() {
        let delays = Delays::Listed(vec![Duration::from_secs(1), Duration::from_secs(9)].into());
        let policy = RetryPolicy { delays, ..RetryPolicy::default() };
        assert_eq!(seconds(&policy, 1..=3), [1, 9, 9]);
    }

    #[test]
    fn equal_jitter_keeps_half_and_full_jitter_keeps_nothing_but_the_shortest() {
        let equal = growing(Backoff::Constant, Jitter::Equal);
        assert_eq!(equal.delay(1, 0), Duration::from_millis(2_500));
        assert!(equal.delay(1, u64::MAX) > Duration::from_millis(4_999));
        let full = growing(Backoff::Constant, Jitter::Full);
        assert_eq!(full.delay(1, 0), SHORTEST);
        assert!(full.delay(1, u64::MAX) > Duration::from_millis(4_999));
    }

    #[test]
    fn no_delay_is_zero_or_above_the_longest_whatever_the_numbers_are() {
        let durations = [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_millis(1),
            Duration::from_secs(5),
            Duration::from_hours(24),
            Duration::new(u64::MAX / 2, 999_999_999),
            Duration::MAX,
        ];
        let failures = (0..=70).chain([310, 1_000_000, u32::MAX - 1, u32::MAX]);
        let randoms = [0, 1, u64::MAX / 3, u64::MAX - 1, u64::MAX];
        let backoffs = [Backoff::Constant, Backoff::Linear, Backoff::Exponential];
        let jitters = [Jitter::None, Jitter::Equal, Jitter::Full];
        for failures in failures {
            for (initial, max) in durations.iter().flat_map(|a| durations.map(|b| (*a, b))) {
                for (backoff, jitter) in backoffs.iter().flat_map(|a| jitters.map(|b| (*a, b))) {
                    for random in randoms {
                        let delays = Delays::Growing { backoff, initial, max, jitter };
                        let policy = RetryPolicy { delays, ..RetryPolicy::default() };
                        let delay = policy.delay(failures, random);
                        let case = (failures, initial, max, backoff, jitter, random, delay);
                        assert!(delay >= SHORTEST && delay <= max.max(SHORTEST), "{case:?}");
                    }
                }
            }
        }
    }
}
