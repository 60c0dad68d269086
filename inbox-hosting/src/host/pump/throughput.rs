use std::time::Duration;

/// What is leased ahead should be begun within this time.
const HORIZON: Duration = Duration::from_millis(250);

/// How long a run may be of a handler that nobody knows.
const UNKNOWN: usize = 8;

/// How much the newest call counts.
const NEWEST: f64 = 0.2;

/// How long the calls of a handler take, and how large its deliveries are.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    /// Seconds; none before the first call has ended.
    took: Option<f64>,
    /// Bytes.
    weight: f64,
}

impl Throughput {
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
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let slots = slots as f64;
        self.calls(slots * HORIZON.as_secs_f64()).unwrap_or(0)
    }

    /// How many calls, one after the other, take no longer than this: nothing, while nobody knows.
    pub(super) fn calls_within(&self, time: Duration) -> usize {
        self.calls(time.as_secs_f64()).unwrap_or(0)
    }

    /// How long a run may be that is over within this time, and at least one delivery: a few, while nobody
    /// knows.
    pub(super) fn run(&self, within: Duration) -> usize {
        self.calls(within.as_secs_f64()).unwrap_or(UNKNOWN).max(1)
    }

    /// How many calls take so many seconds.
    fn calls(&self, seconds: f64) -> Option<usize> {
        let calls = seconds / self.took?.max(1e-6);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let calls = calls.min(1e6) as usize;
        Some(calls)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_leased_ahead_for_a_handler_that_nobody_knows_or_that_is_slow() {
        let mut throughput = Throughput::default();
        assert_eq!(throughput.ahead(64), 0);
        throughput.ended(Duration::from_mins(1));
        assert_eq!(throughput.ahead(64), 0);
    }

    #[test]
    fn a_fast_handler_has_its_next_calls_leased_ahead_until_one_lasts() {
        let mut throughput = Throughput::default();
        throughput.ended(Duration::from_millis(10));
        assert_eq!(throughput.ahead(4), 100);
        throughput.lasts(Duration::from_secs(10));
        assert_eq!(throughput.ahead(4), 0);
    }

    #[test]
    fn a_run_is_as_long_as_the_time_that_its_handler_takes_for_it() {
        let mut throughput = Throughput::default();
        let within = Duration::from_secs(7);
        assert_eq!((throughput.run(within), throughput.calls_within(within)), (UNKNOWN, 0));
        throughput.ended(Duration::from_secs(2));
        assert_eq!((throughput.run(within), throughput.calls_within(within)), (3, 3));
        throughput.lasts(Duration::from_mins(1));
        assert_eq!((throughput.run(within), throughput.calls_within(within)), (1, 0));
    }

    #[test]
    fn a_large_payload_makes_few_fit_and_always_one() {
        let mut throughput = Throughput::default();
        for _ in 0..100 {
            throughput.weighs(1_000_000);
        }
        assert_eq!(throughput.fitting(4_000_000), 4);
        assert_eq!(throughput.fitting(1), 1);
    }
}
