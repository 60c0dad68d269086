use std::collections::VecDeque;

use inbox_core::policy::Rate;
use tokio::time::Instant;

/// How many calls may still begin, where a handler's attribute limits them.
#[derive(Debug)]
pub(super) struct RateLimiter {
    rate: Rate,
    /// When the last calls began, the oldest first: no more than the rate counts.
    began: VecDeque<Instant>,
}

impl RateLimiter {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, began: VecDeque::new() }
    }

    /// How many deliveries may begin now.
    pub(super) fn left(&mut self, now: Instant) -> usize {
        while self.began.front().is_some_and(|began| *began + self.rate.per <= now) {
            self.began.pop_front();
        }
        (self.rate.count.get() as usize).saturating_sub(self.began.len())
    }

    /// So many begin.
    pub(super) fn begin(&mut self, deliveries: usize, now: Instant) {
        self.began.extend(std::iter::repeat_n(now, deliveries));
    }

    /// When another one may begin, if none may now.
    pub(super) fn next(&self) -> Option<Instant> {
        let is_full = self.began.len() >= self.rate.count.get() as usize;
        self.began.front().filter(|_| is_full).map(|began| *began + self.rate.per)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rate_lets_so_many_begin_in_any_stretch_of_its_length() {
        let rate = Rate { count: NonZeroU32::new(3).unwrap(), per: Duration::from_secs(10) };
        let (mut starts, now) = (RateLimiter::new(rate), Instant::now());
        assert_eq!((starts.left(now), starts.next()), (3, None));
        starts.begin(2, now);
        starts.begin(1, now + Duration::from_secs(4));
        assert_eq!(starts.left(now + Duration::from_secs(9)), 0);
        assert_eq!(starts.next(), Some(now + Duration::from_secs(10)));
        assert_eq!(starts.left(now + Duration::from_secs(10)), 2);
    }
}
