use std::collections::VecDeque;
use std::time::Duration;

use inbox_core::policy::Rate;
use tokio::time::Instant;

/// What is leased ahead should be begun within this time.
const HORIZON: Duration = Duration::from_millis(250);

/// How much the newest call counts.
const NEWEST: f64 = 0.2;

/// How long the calls of a handler take, and how large its deliveries are.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Seconds; none before the first call has ended.
    took: Option<f64>,
    /// Bytes.
    weight: f64,
}

impl Pace {
    /// A call ended.
    pub(super) fn ended(&mut self, took: Duration) {
        let took = took.as_secs_f64();
        self.took = Some(self.took.map_or(took, |known| known + (took - known) * NEWEST));
    }

    /// A call has been going on for so long, and has not ended.
    pub(super) fn lasts(&mut self, so_far: Duration) {
        let so_far = so_far.as_secs_f64();
        self.took = Some(self.took.map_or(so_far, |known| known.max(so_far)));
    }

    /// A delivery of this size was leased.
    pub(super) fn weighs(&mut self, bytes: usize) {
        // The size of a memory is far within what a float counts exactly.
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let bytes = bytes as f64;
        self.weight += (bytes - self.weight) * NEWEST;
    }

    /// How many calls `slots` of them make within the horizon: nothing, while nobody knows.
    pub(super) fn ahead(&self, slots: usize) -> usize {
        let Some(took) = self.took else { return 0 };
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let calls = slots as f64 * HORIZON.as_secs_f64() / took.max(1e-6);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let calls = calls.min(1e6) as usize;
        calls
    }

    /// How many deliveries fit into so many bytes.
    pub(super) fn fitting(&self, bytes: usize) -> usize {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let fitting = bytes as f64 / self.weight.max(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let fitting = fitting.clamp(1.0, 1e6) as usize;
        fitting
    }
}

/// How many calls may still begin, where a handler's attribute limits them.
#[derive(Debug)]
pub(super) struct Starts {
    rate: Rate,
    /// When the last calls began, the oldest first: no more than the rate counts.
    began: VecDeque<Instant>,
}

impl Starts {
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
    use super::*;
    use std::num::NonZeroU32;

    #[test]
    fn nothing_is_leased_ahead_for_a_handler_that_nobody_knows_or_that_is_slow() {
        let mut pace = Pace::default();
        assert_eq!(pace.ahead(64), 0);
        pace.ended(Duration::from_mins(1));
        assert_eq!(pace.ahead(64), 0);
    }

    #[test]
    fn a_fast_handler_has_its_next_calls_leased_ahead_until_one_lasts() {
        let mut pace = Pace::default();
        pace.ended(Duration::from_millis(10));
        assert_eq!(pace.ahead(4), 100);
        pace.lasts(Duration::from_secs(10));
        assert_eq!(pace.ahead(4), 0);
    }

    #[test]
    fn a_large_payload_makes_few_fit_and_always_one() {
        let mut pace = Pace::default();
        for _ in 0..100 {
            pace.weighs(1_000_000);
        }
        assert_eq!(pace.fitting(4_000_000), 4);
        assert_eq!(pace.fitting(1), 1);
    }

    #[test]
    fn a_rate_lets_so_many_begin_in_any_stretch_of_its_length() {
        let rate = Rate { count: NonZeroU32::new(3).unwrap(), per: Duration::from_secs(10) };
        let (mut starts, now) = (Starts::new(rate), Instant::now());
        assert_eq!((starts.left(now), starts.next()), (3, None));
        starts.begin(2, now);
        starts.begin(1, now + Duration::from_secs(4));
        assert_eq!(starts.left(now + Duration::from_secs(9)), 0);
        assert_eq!(starts.next(), Some(now + Duration::from_secs(10)));
        assert_eq!(starts.left(now + Duration::from_secs(10)), 2);
    }
}
