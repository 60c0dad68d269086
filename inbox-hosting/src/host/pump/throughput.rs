use std::time::Duration;

/// What is leased ahead should be begun within this time.
const HORIZON: Duration = Duration::from_millis(250);

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
    fn a_large_payload_makes_few_fit_and_always_one() {
        let mut throughput = Throughput::default();
        for _ in 0..100 {
            throughput.weighs(1_000_000);
        }
        assert_eq!(throughput.fitting(4_000_000), 4);
        assert_eq!(throughput.fitting(1), 1);
    }
}
